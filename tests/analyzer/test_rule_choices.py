"""`select`, `ignore` and `severity`: which findings are told, and how severe."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice.config.config import Options, make_config
from wattslice.config.rule_choices import rule_choices
from wattslice.errors import WattsliceError
from wattslice.findings.findings import findings_of, without_suppressed
from wattslice.ir import Severity
from wattslice.pipeline.files import analyze_files

STRIDED = """__global__ void k(const float *a, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = a[i * 32];
}
int main() { float *p; k<<<16384, 256>>>(p, p); }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    for name in ("k.cu", "tests/t.cu"):
        (tmp_path / name).write_text(STRIDED)
    return tmp_path


def told(
    folder: Path,
    settings: str = "",
    *,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    severity: tuple[str, ...] = (),
) -> dict[str, set[str]]:
    (folder / "wattslice.toml").write_text(settings)
    options = Options(paths=(folder,), gpu="v100", select=select, ignore=ignore, severity=severity)
    analysis = analyze_files(make_config(options))
    found: dict[str, set[str]] = {}
    for one in findings_of(analysis):
        if one.file:
            found.setdefault(one.rule, set()).add(f"{Path(one.file).name} {one.severity.value}")
    advised = {entry.rule for kernel in without_suppressed(analysis) for entry in kernel.advice}
    assert advised <= found.keys()
    return found


def test_everything_is_told_unless_somebody_chooses(folder):
    assert told(folder)["PW041"] == {"k.cu warning", "t.cu warning"}


def test_rules_are_selected_and_ignored_everywhere_or_by_file(folder):
    assert "PW041" not in told(folder, ignore=("PW04*",))
    assert "PW041" not in told(folder, select=("PW01*",))
    assert told(folder, select=("PW04*",)).keys() == {"PW041"}
    assert told(folder, 'ignore = ["PW041@tests/*"]')["PW041"] == {"k.cu warning"}
    assert told(folder, 'select = ["PW041@t.cu"]')["PW041"] == {"t.cu warning"}


def test_the_last_severity_that_holds_counts(folder):
    found = told(folder, 'severity = ["PW04?=note"]', severity=("PW041=error@k.cu",))
    assert found["PW041"] == {"k.cu error", "t.cu note"}


def test_errors_stay_whatever_is_ignored(folder):
    (folder / "k.cu").write_text("#error stop\n__global__ void k(")
    assert "k.cu error" in told(folder, 'ignore = ["PW*"]')["PW001"]


@pytest.mark.parametrize(
    ("option", "entry", "message"),
    [
        ("select", "W041", "names no rule"),
        ("ignore", "PW041=note", "names no rule"),
        ("severity", "PW041", "names no rule"),
        ("severity", "PW041=loud", "unknown value 'loud'"),
    ],
)
def test_what_names_no_rule_is_refused(option, entry, message):
    given = {"select": (), "ignore": (), "severity": ()} | {option: (entry,)}
    with pytest.raises(WattsliceError, match=message):
        rule_choices(**given)


def test_patterns_are_of_names_or_ends_of_paths():
    (one,) = rule_choices((), ("PW04*@src/*.cu",), ()).ignore
    assert one.holds_for("PW041", "/home/me/src/a.cu")
    assert one.holds_for("PW049", "src/a.cu")
    assert not one.holds_for("PW041", "/home/me/mysrc/a.cu")
    assert not one.holds_for("PW051", "src/a.cu")
    assert replace(one, file="a.cu").holds_for("PW041", "deep/down/a.cu")
    assert rule_choices((), (), ("PW041=note",)).severity("PW041", "a", Severity.WARNING) is Severity.NOTE
