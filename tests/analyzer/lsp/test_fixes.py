"""From the option that settles an assumption to the setting, with the values that are assumed now."""

import pytest

from wattslice.counting.profile import LoopTrips
from wattslice.findings.findings import Finding
from wattslice.ir import Severity
from wattslice.launches.launch import LaunchSource
from wattslice.lsp.actions import settings_for

from ..samples import MATMUL, changed

KERNEL = changed(
    MATMUL,
    launch={"source": LaunchSource.ASSUMED},
    loops=(LoopTrips(17, 1, None, 16.0), LoopTrips(9, 2, None, 2.5, "include/step.h")),
)


def written(fix: str, message: str = "", rule: str = "PW011") -> list[str]:
    finding = Finding(rule, Severity.NOTE, KERNEL.source.file, 12, KERNEL.name, message, fix)
    return [f"{entry.key} {entry.value}" for entry in settings_for(finding, (KERNEL,))]


@pytest.mark.parametrize(
    ("fix", "message", "settings"),
    [
        ("--set n=VALUE", "'n' is unknown; n assumed 1024: k<<<1, 2>>>", ["set n=1024"]),
        ("--set matMul.n=VALUE", "value of parameter 'n' unknown: n assumed 0.5", ["set matMul.n=0.5"]),
        ("--set matMul.trip_L17=VALUE", "16 iterations assumed", ["set matMul.trip_L17=16"]),
        ("--set matMul.trip_L9@step.h=VALUE", "", ["set matMul.trip_L9@step.h=2.5"]),
        ("--launch 'matMul=gx,gy,gz:bx,by,bz'", "", ["launch matMul=64,64,1:16,16,1"]),
        ("--launch 'matMul=8,1,1:32,1,1'", "", ["launch matMul=8,1,1:32,1,1"]),
        ("--launch 'matMul=8,1,1:32,1,1:BYTES'", "", ["launch matMul=64,64,1:16,16,1:0"]),
        ("--profile FILE", "", []),
        ("--set n=VALUE", "nothing of a value", []),
        ("--set matMul.trip_L<line>=VALUE", "", []),
        ("--set a.n=VALUE --set a.m=VALUE", "n assumed 3, m assumed 4", ["set a.n=3", "set a.m=4"]),
        ("--set a.n=VALUE --set a.m=VALUE", "n assumed 3", []),
        ("write 'a", "", []),
        ("", "", []),
    ],
)
def test_settings(fix, message, settings):
    assert written(fix, message) == settings
