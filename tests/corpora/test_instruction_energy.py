"""Energies of instructions from synthetic traces and journals whose truth is known."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice_corpora.measuring.bench import Measured, failed_row, measured_row
from wattslice_corpora.measuring.instruction_energy import (
    LaunchEnergy,
    difference,
    instruction_rows,
    pooled_scatter,
    sensor_step_w,
)
from wattslice_corpora.measuring.instruction_plan import Run, Study, Variant, instruction_plan, studies
from wattslice_corpora.measuring.journal import Entry
from wattslice_corpora.measuring.power import Method, integrated_power, power_of
from wattslice_corpora.measuring.program import Launch, Window
from wattslice_corpora.measuring.sensor import Reading, Throttle
from wattslice_corpora.measuring.trace import Trace
from wattslice_corpora.records import RecordError, read_instructions, write_table
from wattslice_corpora.records.instructions import MeasuredInstruction

IDLE_W = 70.0
SM_COUNT = 132


def trace(
    busy_w: float,
    *,
    launch_s: float = 1e-3,
    average_s: float = 0.0,
    warmup_s: float = 1.0,
    last_w: float | None = None,
) -> Trace:
    """A second of idling, then a kernel; the sensor moves every 100 ms and averages over `average_s`.

    `last_w`: what the kernel draws in the last half second, when it is something else.
    """
    begin_s, end_s = 1.0 + warmup_s, 1.0 + warmup_s + 2.5

    def true_w(time_s: float) -> float:
        late_w = busy_w if last_w is None else last_w
        return IDLE_W if time_s < 1.0 else busy_w if time_s < end_s - 0.5 else late_w

    def sensor_w(time_s: float) -> float:
        at_s = math.floor(time_s * 10) / 10
        share = 1.0 if average_s == 0 else min(1.0, max(0.0, (at_s - 1.0) / average_s))
        power_w = IDLE_W + share * (true_w(at_s) - IDLE_W) + 0.3 * math.sin(at_s * 97.0)
        return round(power_w, 3)

    readings = tuple(
        Reading(at_s, sensor_w(at_s), sensor_w(at_s), None, None, 1980.0, None, 45.0, Throttle.NONE)
        for at_s in (0.015 * number for number in range(int(end_s / 0.015)))
    )
    return Trace(readings, 0.99, Window(begin_s, end_s, round(2.5 / launch_s), 2.5))


def launch_energy(power_w: float, time_s: float, *factors: float) -> LaunchEnergy:
    return LaunchEnergy(tuple(power_w * time_s * factor for factor in factors), time_s)


@pytest.mark.parametrize("average_s", [0.0, 1.0])
@pytest.mark.parametrize("method", [Method.MTSM, Method.SMA, Method.PAPI])
def test_every_method_knows_a_steady_kernel_whatever_the_sensor_averages(method: Method, average_s: float):
    power_w = power_of(trace(300.0, average_s=average_s)).powers.by(method)
    assert power_w == pytest.approx(300.0, rel=0.01)


def test_without_a_warm_up_an_averaging_sensor_is_told_apart_from_a_steady_one():
    """The plain area from begin to end is far too small; the plateau is right, but too short to count."""
    cold = trace(300.0, average_s=1.0, warmup_s=0.0)
    assert (integrated_power(cold.between(1.0, 3.5)) or 0.0) < 0.9 * 300.0
    power = power_of(cold)
    assert power.powers.mtsm_w == pytest.approx(300.0, rel=0.02)
    assert power.powers.papi_w == pytest.approx(300.0, rel=0.01)
    assert "not steady" in power.invalid


def test_one_reading_at_the_end_is_wrong_when_the_end_is_not_like_the_rest():
    """What the paper holds against PAPI; such a run is refused, whatever the method."""
    changing = trace(300.0, last_w=330.0)
    truth_w = (300.0 * 2.0 + 330.0 * 0.5) / 2.5
    assert integrated_power(changing.between(2.0, 4.5)) == pytest.approx(truth_w, rel=0.01)
    power = power_of(changing)
    assert power.powers.papi_w == pytest.approx(330.0, rel=0.01)
    assert "not steady" in power.invalid


@given(
    power_w=st.floats(50, 700),
    without_w=st.floats(50, 700),
    without_s=st.floats(1e-4, 1e-2),
    longer_s=st.floats(1e-3, 1.0),
    instructions=st.integers(1, 10**12),
)
def test_the_difference_is_the_energy_of_the_instances(
    power_w: float, without_w: float, without_s: float, longer_s: float, instructions: int
):
    ours = launch_energy(power_w, without_s + longer_s, 1.0)
    theirs = launch_energy(without_w, without_s, 1.0)
    found = difference(ours, theirs, instructions, None, 0.001)
    truth = (power_w * (without_s + longer_s) - without_w * without_s) / instructions
    assert found.energy_j == pytest.approx(truth, rel=1e-9)
    assert found.time_s == pytest.approx(longer_s / instructions, rel=1e-6)
    assert found.standard_error_j is None
    assert bool(found.fault) == (truth <= 0)


def test_the_standard_error_is_the_scatter_of_repeated_experiments():
    """Whole experiments with 1 % scatter: their results scatter by what one of them claims."""
    generator = random.Random(1)
    results: list[float] = []
    claims: list[float] = []
    for _ in range(400):
        sides = [[generator.gauss(1.0, 0.01) for _ in range(3)] for _ in range(2)]
        ours, theirs = launch_energy(120.0, 1e-2, *sides[0]), launch_energy(100.0, 1e-3, *sides[1])
        others = [tuple(generator.gauss(5.0, 0.05) for _ in range(3)) for _ in range(10)]
        found = difference(ours, theirs, 10**6, pooled_scatter(others), 0.0)
        results.append(found.energy_j)
        claims.append(found.standard_error_j or 0.0)
    assert statistics.fmean(claims) == pytest.approx(statistics.stdev(results), rel=0.1)


def test_the_rounding_of_the_sensor_makes_a_small_difference_no_measurement():
    ours, theirs = launch_energy(100.0, 1.001e-2, 1.0, 1.0), launch_energy(100.0, 1e-2, 1.0, 1.0)
    assert difference(ours, theirs, 1000, 1e-6, 0.001).fault == ""
    coarse = difference(ours, theirs, 1000, 1e-6, 1.0)
    assert "below what can be resolved" in coarse.fault
    assert coarse.standard_error_j == pytest.approx(
        math.hypot(1.001e-2, 1e-2) / math.sqrt(12) / 1000, rel=1e-3
    )


def test_runs_that_are_alone_say_nothing_about_scatter():
    assert pooled_scatter([(3.0,), (5.0,)]) is None
    assert pooled_scatter([(3.0,), (99.0, 101.0)]) == pytest.approx(math.sqrt(2) * 0.01)


@pytest.mark.parametrize(
    ("readings", "step"),
    [((70.0, 301.0), 1.0), ((70.0, 301.25), 0.01), ((70.1, 301.0), 0.1), ((70.1234,), 0.001)],
)
def test_the_step_of_a_sensor_is_found_from_its_readings(readings: tuple[float, ...], step: float):
    assert sensor_step_w(readings) == step


WANTED = studies("div.rn.f32", (Variant.LATENCY,), (True,))
PLAN = instruction_plan(WANTED, 0)
KERNELS = Path("kernels")
WITH_S, WITHOUT_S = 2e-3, 4e-4


@cache
def entries(
    plan: tuple[Run, ...], with_w: float = 130.0, without_w: float = 120.0, with_s: float = WITH_S
) -> tuple[Entry, ...]:
    """As if all of it had been measured on a board without an energy counter, every run a bit different."""
    found: list[Entry] = []
    for run in plan:
        configuration = run.configuration(SM_COUNT, KERNELS)
        power_w = (with_w if run.with_instances else without_w) * (1 + 0.001 * (run.repeat - 1))
        taken = trace(power_w, launch_s=with_s if run.with_instances else WITHOUT_S)
        power = power_of(taken)
        launch = Launch(0, "?", (1, 1, 1), (1, 1, 1), 0, 0, 16, "0000:1B:00.0")
        row = measured_row(configuration, Measured(launch, taken), power)
        found.append(Entry(configuration.name, configuration.version, row, power.powers))
    return tuple(found)


def rows(found: tuple[Entry, ...], plan: tuple[Run, ...] = PLAN) -> dict[str, MeasuredInstruction]:
    configurations = (run.configuration(SM_COUNT, KERNELS) for run in plan)
    versions = tuple((one.name, one.version) for one in configurations)
    made = instruction_rows(plan, versions, found, SM_COUNT, lambda study: None)
    return {row.method: row for row in made}


INSTRUCTIONS_OF_A_LAUNCH = 65536 * 16


def test_a_journal_becomes_rows_by_every_method():
    found = rows(entries(PLAN))
    truth_j = (130.0 * WITH_S - 120.0 * WITHOUT_S) / INSTRUCTIONS_OF_A_LAUNCH
    time_s = (WITH_S - WITHOUT_S) / INSTRUCTIONS_OF_A_LAUNCH
    for method in ("MTSM", "SMA", "PAPI"):
        row = found[method]
        assert row.energy_j == pytest.approx(truth_j, rel=0.01)
        assert row.standard_error_j is not None
        assert 0 < row.standard_error_j < 0.01 * truth_j
        assert row.time_s == pytest.approx(time_s)
        assert row.above_idle_j == pytest.approx((row.energy_j or 0) - IDLE_W * time_s, rel=0.01)
        assert (row.instruction, row.optimized, row.variant, row.repeats) == (
            "div.rn.f32",
            True,
            "latency",
            3,
        )
    counter = found["energy counter"]
    assert counter.energy_j is None
    assert counter.reason == "the board does not offer what energy counter takes"


def test_an_instruction_that_took_no_time_by_chance_has_no_part_above_idle(tmp_path: Path):
    found = rows(entries(PLAN, with_w=300.0, with_s=0.99 * WITHOUT_S))
    assert found["MTSM"].energy_j is not None
    assert found["MTSM"].above_idle_j is None
    made = tuple(found.values())
    write_table(tmp_path / "instructions.csv", (), MeasuredInstruction, made)
    assert read_instructions(tmp_path / "instructions.csv") == made


def test_an_instruction_whose_kernel_without_it_is_missing_has_a_reason():
    found = rows(tuple(entry for entry in entries(PLAN) if "without" not in entry.name))
    assert found["MTSM"].energy_j is None
    assert found["MTSM"].reason == "the kernel without it: not measured yet"


def test_runs_that_are_not_valid_do_not_count():
    whole = entries(PLAN)
    spoilt = tuple(
        replace(
            entry, row=failed_row(run.configuration(SM_COUNT, KERNELS), "heat slowed the clocks"), powers=None
        )
        if run.with_instances
        else entry
        for entry, run in zip(whole, PLAN, strict=True)
    )
    assert rows(spoilt)["MTSM"].reason == "not valid: heat slowed the clocks"
    assert rows(spoilt)["MTSM"].repeats == 0


def test_a_result_of_another_version_of_a_kernel_does_not_count():
    assert rows(tuple(replace(entry, version="old") for entry in entries(PLAN))) == {}


def test_what_is_written_is_read_back(tmp_path: Path):
    made = tuple(rows(entries(PLAN)).values())
    table = tmp_path / "instructions.csv"
    write_table(table, ("a comment",), MeasuredInstruction, made)
    assert read_instructions(table) == made


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (",latency,", ",fast,", "'fast' is none of latency, throughput"),
        (",MTSM,", ",MTSM,-", "is not above 0"),
    ],
)
def test_a_table_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, complaint: str):
    table = tmp_path / "instructions.csv"
    write_table(table, (), MeasuredInstruction, tuple(rows(entries(PLAN)).values()))
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(RecordError, match=complaint):
        read_instructions(table)


def test_the_first_part_of_the_plan_is_a_study_of_its_own():
    """Every row of the paper's table in both variants, some kernels twice, in a hundred runs."""
    wanted = studies()
    first = instruction_plan(wanted, 0)[:100]

    def rows_of(chosen: Iterable[Study]) -> set[tuple[Variant, str, str]]:
        found = ((one.variant, one.instruction.category, one.instruction.table_row) for one in chosen)
        return {row for row in found if row[2]}

    assert rows_of(run.study for run in first if run.with_instances) == rows_of(wanted)
    without = [run.study.variant.value + run.study.stem(False) for run in first if not run.with_instances]
    assert all(without.count(name) == 2 for name in without)
    for run in first:
        assert run.study.variant.value + run.study.stem(False) in without


def test_the_plan_has_every_run_once_and_follows_the_seed():
    wanted = studies()
    one, other = instruction_plan(wanted, 0), instruction_plan(wanted, 1)
    names = [run.name() for run in one]
    assert len(set(names)) == len(names) == len(other)
    assert set(names) == {run.name() for run in other}
    assert names != [run.name() for run in other]
    assert sum(run.with_instances for run in one) == 3 * len(wanted)


@pytest.mark.parametrize("only", ["shl.b32", "*.f16x2", "div*"])
def test_what_is_chosen_is_part_of_the_whole(only: str):
    """One folder may be filled by several commands: their kernels have to be the same."""
    whole = {run.configuration(SM_COUNT, KERNELS) for run in instruction_plan(studies(), 0)}
    chosen = {run.configuration(SM_COUNT, KERNELS) for run in instruction_plan(studies(only), 0)}
    assert chosen < whole


def test_a_pattern_chooses_instructions():
    assert {one.instruction.name for one in studies("div.[su]32")} == {"div.s32", "div.u32"}
    assert studies("nothing") == ()
