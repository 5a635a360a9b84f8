import json
import math

import pytest
from msgspec.structs import replace

from wattslice.analysis import KernelAnalysis
from wattslice.counting.profile import LoopTrips
from wattslice.errors import WattsliceError
from wattslice.gate.changes import (
    Change,
    Explanation,
    Policy,
    changes_of,
    compare,
    does_more,
    failing,
    line_map,
    told,
    with_losses,
)
from wattslice.gate.ratio_trust import DATA, Kin, Quantity, curve, curves
from wattslice.gate.records import LaunchRecord, Pair, match
from wattslice.ir import Diagnostic, Severity
from wattslice.launches.launch import Assumption, LaunchSource
from wattslice.workload.instructions.kinds import InstructionCount
from wattslice_corpora.records import measurements_path, sha256, workloads_path

from .samples import EMPTY, MATMUL
from .samples import changed as other

OLD = LaunchRecord("a.cu", "k", 1, (64, 1, 1), (256, 1, 1), 100.0, 1e-3, 1e-5, "energy", "body")


def changed(power: float = 1.0, energy: float = 1.0, similarity: float | None = None) -> Pair:
    new = replace(OLD, power_w=100.0 * power, energy_j=1e-3 * energy, time_s=1e-5 * energy / power)
    return Pair(OLD, new, similarity)


def failures(pair: Pair, policy: Policy | None = None) -> list[str]:
    return [change.quantity.value for change in failing(changes_of(pair), policy or Policy())]


def test_equal_figures_have_a_ratio_of_exactly_one_and_no_doubt():
    for change in changes_of(changed()):
        assert (change.ratio, change.low, change.high, change.p_worse) == (1.0, 1.0, 1.0, 0.0)


def test_what_rounds_to_nothing_has_no_sign():
    change = Change(Quantity.ENERGY, 1.0, 1.7, 0.999, 2.68, 0.9)
    assert told(change).startswith("energy +70 % (0 to +168 %), ")


def test_six_digits_of_a_baseline_are_no_change():
    new = replace(OLD, power_w=100.0004)
    assert changes_of(Pair(OLD, new, None))[0].ratio == 1.0


def test_only_a_rise_that_is_large_and_sure_enough_fails():
    assert failures(changed(energy=1.04)) == []
    assert failures(changed(energy=1.30)) == ["energy"]
    assert failures(changed(energy=0.5)) == []
    assert failures(changed(energy=1.30), Policy(tolerance=0.5)) == []
    assert failures(changed(energy=1.30), Policy(confidence=0.999)) == []
    assert failures(changed(energy=1.30), Policy(fail_on=(Quantity.TIME,))) == ["time"]


def test_small_changes_of_watts_are_not_trusted():
    assert failures(changed(power=1.08, energy=1.0)) == []
    assert failures(changed(power=1.6, energy=1.0)) == ["power"]


def test_more_watts_for_fewer_joules_pay_unless_watts_are_named():
    faster = changed(power=1.6, energy=0.7)
    assert failures(faster) == []
    assert failures(faster, Policy(fail_on=(Quantity.POWER,), saving_pays=False)) == ["power"]


def test_rewritten_kernels_and_unknown_addresses_are_trusted_less():
    assert failures(changed(energy=1.3, similarity=0.9)) == ["energy"]
    assert failures(changed(energy=1.3, similarity=0.2)) == []
    gather = Assumption("PW016", 3, "address depends on data", "")
    plain = changed(energy=1.3)
    kernel = replace(MATMUL, assumptions=(gather,))
    assert failures(Pair(replace(OLD, analysis=kernel), plain.new, None)) == []


RUNS = other(
    MATMUL,
    resources={"occupancy": 0.5, "sm_saturation": 1.0},
    work={
        "bytes_per_thread": 8.0,
        "instructions_per_thread": (InstructionCount("ffma", 10.0), InstructionCount("iadd", 4.0)),
    },
    time_s=1e-5,
)
ADDS = InstructionCount("iadd", 4.0)


def executing(*instructions: InstructionCount) -> dict[str, object]:
    return {"work": {"instructions_per_thread": instructions}}


@pytest.mark.parametrize(
    ("change", "is_more"),
    [
        (executing(InstructionCount("ffma", 10.0), ADDS, InstructionCount("mufu", 1.0)), True),
        (executing(InstructionCount("ffma", 11.0), ADDS), True),
        (executing(InstructionCount("ffma", 40.0), InstructionCount("iadd", 3.9)), False),
        (executing(InstructionCount("ffma", 40.0)), False),
        (executing(InstructionCount("dfma", 10.0), ADDS), True),
        (executing(InstructionCount("dfma", 9.0), ADDS), False),
        ({"work": {"bytes_per_thread": 12.0}}, True),
        ({"work": {"bytes_per_thread": 7.0}}, False),
        ({"work": {"bytes_per_thread": None}}, False),
        ({"work": None}, False),
        ({"resources": {"occupancy": 0.6}}, False),
        ({"resources": None}, False),
        ({"resources": {"sm_saturation": 1.1}}, False),
        ({"time_s": 0.9e-5}, False),
        ({"time_s": None}, False),
        ({"launch": {"grid": (65, 1, 1)}}, False),
        ({"assumptions": (Assumption("PW016", 3, "address depends on data", ""),)}, False),
    ],
)
def test_what_does_all_that_it_did_and_more_costs_more_for_sure(change: dict[str, object], is_more: bool):
    sure = Policy(confidence=0.95)  # more than this rise alone is
    figures = changed(energy=1.05).new
    pair = Pair(replace(OLD, analysis=RUNS), replace(figures, analysis=other(RUNS, **change)), None)
    assert does_more(pair) is is_more
    assert failures(pair, sure) == ["energy"] * is_more
    assert all(change.low >= 1.0 for change in changes_of(pair)[1:]) is is_more
    assert failures(pair, Policy(fail_on=(Quantity.POWER,))) == []


def test_a_launch_made_less_often_does_not_do_more():
    old = replace(OLD, analysis=RUNS, times=20)
    assert not does_more(Pair(old, replace(changed(energy=2.2).new, analysis=RUNS, times=10), None))


def test_the_interval_holds_the_predicted_ratio_and_turns_with_its_sign():
    up = changes_of(changed(energy=1.5))[1]
    down = changes_of(changed(energy=1 / 1.5))[1]
    assert up.low < 1.5 < up.high
    assert down.low == pytest.approx(1 / up.high)
    assert down.p_worse == pytest.approx(1 - up.p_worse)


def test_a_model_nobody_has_judged_is_refused():
    pair = Pair(OLD, replace(OLD, power_w=200.0, model="wavelet"), None)
    with pytest.raises(WattsliceError, match="wavelet"):
        changes_of(pair)


def nothing(_pair: Pair, _quantity: Quantity) -> Explanation:
    return Explanation()


def test_launches_that_are_not_known_alike_only_warn():
    read = replace(OLD, analysis=other(MATMUL, launch={"source": LaunchSource.HOST_CODE}))
    guessed = replace(changed(energy=2).new, analysis=other(MATMUL, launch={"source": LaunchSource.ASSUMED}))

    run = replace(guessed, analysis=other(MATMUL, launch={"source": LaunchSource.ARGUMENTS}))

    def severity(old: LaunchRecord, new: LaunchRecord) -> Severity:
        compared = compare(match((old,), (new,)), Policy(), "before", lambda _: ("a.cu", 1), nothing)
        return compared.findings[0].severity

    assert severity(read, run) is Severity.ERROR

    assert severity(read, guessed) is Severity.WARNING
    assert severity(read, replace(guessed, analysis=read.analysis)) is Severity.ERROR


def test_what_is_assumed_of_one_side_only_warns():
    def severity(old: KernelAnalysis, new: KernelAnalysis) -> Severity:
        records = (replace(OLD, analysis=old),), (replace(changed(energy=2).new, analysis=new),)
        compared = compare(match(*records), Policy(), "before", lambda _: ("a.cu", 1), nothing)
        return compared.findings[0].severity

    plain = replace(MATMUL, assumptions=())
    sized = replace(plain, assumptions=(Assumption("PW010", 3, "value of n unknown: 1024", ""),))
    renamed = replace(plain, assumptions=(Assumption("PW010", 3, "value of m unknown: 1024", ""),))
    assert severity(sized, plain) is severity(plain, sized) is Severity.WARNING
    assert severity(sized, renamed) is Severity.ERROR

    known, unknown = LoopTrips(5, 1, 8.0, 8.0), LoopTrips(5, 1, None, 8.0)
    told, guessed = replace(plain, loops=(known,)), replace(plain, loops=(unknown,))
    assert severity(told, guessed) is severity(guessed, told) is Severity.WARNING
    assert severity(told, replace(plain, loops=(known, unknown))) is Severity.ERROR  # one more loop
    assert severity(guessed, guessed) is Severity.ERROR


def test_curves_are_monotone_start_at_zero_and_are_of_the_committed_tables():
    for one in curves():
        shares = [knot.p_worse for knot in one.knots]
        assert shares == sorted(shares)
        assert (one.knots[0].log_ratio, all(0 <= share <= 1 for share in shares)) == (0.0, True)
        assert all(knot.error_low < knot.error_high for knot in one.knots)
    tables = {entry["name"]: entry["sha256"] for entry in json.loads(DATA.read_text())["tables"]}
    for gpu_id in ("v100_pcie", "quadro_rtx_8000", "gtx_1080_ti"):
        for path in (measurements_path(gpu_id), workloads_path(gpu_id)):
            assert tables[path.name] == sha256(path), "python -m wattslice_tools.retrain --only pages"


def test_variants_are_trusted_sooner_than_strangers_and_joules_no_later_than_watts():
    starts = {
        (kin, quantity): found.significant_from(0.9) or math.inf
        for kin in Kin
        for quantity in Quantity
        if (found := curve("energy", kin, quantity))
    }
    assert starts[Kin.VARIANTS, Quantity.ENERGY] <= starts[Kin.VARIANTS, Quantity.POWER] < math.inf
    for quantity in Quantity:
        assert starts[Kin.VARIANTS, quantity] < starts[Kin.PROGRAMS, quantity]


def test_launches_pair_by_geometry_then_in_order():
    second = replace(OLD, ordinal=2, grid=(128, 1, 1))
    swapped = (replace(second, ordinal=1), replace(OLD, ordinal=2))
    pairs = match((OLD, second), swapped).pairs
    assert [(pair.old.grid, pair.new.grid) for pair in pairs] == [((128, 1, 1),) * 2, ((64, 1, 1),) * 2]
    found = match((OLD, second), (replace(OLD, grid=(7, 1, 1)),))
    assert [(pair.old.ordinal, pair.new.grid[0]) for pair in found.pairs] == [(1, 7)]
    assert [record.ordinal for record in found.vanished] == [2]


def test_a_kernel_that_vanished_because_the_frontend_lost_it_is_unknown():
    gone = replace(OLD, kernel="ns::gone<4>")
    why = Diagnostic("PW001", Severity.ERROR, "/here/a.cu", 7, "kernel 'gone' could not be read")
    compared = compare(match((gone,), ()), Policy(), "before", lambda _: ("a.cu", 1), nothing)

    def told(why: Diagnostic) -> list[tuple[str, Severity, str]]:
        analysis = replace(EMPTY, files=("/here/a.cu", "/here/b.cu"), diagnostics=(why,))
        found = with_losses(compared, analysis, (), lambda file: file.removeprefix("/here/"), Policy())
        return [(one.rule, one.severity, one.file) for one in found.findings]

    assert told(why) == [("PW022", Severity.ERROR, "/here/a.cu")]
    note = [("PW027", Severity.NOTE, "a.cu")]
    assert told(replace(why, message="kernel 'begone' could not be read")) == note
    assert told(replace(why, file="/here/b.cu")) == note


def test_lines_that_moved_are_the_same():
    before = ["a = 1;", "b = 2;", "c = 3;", "}"]
    after = ["c = 3;", "a = 1;", "new", "b = 2;", "}"]
    assert line_map(before, after) == {1: 3, 2: 1, 4: 2, 5: 4}
