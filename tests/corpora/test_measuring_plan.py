import re
from collections import Counter
from pathlib import Path

import pytest

from wattslice_corpora.manifest import RunSize, load_manifest
from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.plan import campaign_plan, sweep_plan
from wattslice_corpora.records import read_sweep
from wattslice_corpora.synthetic import default_grid, intensity_sweep, source

SM_COUNT = 132


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaign")


@pytest.fixture(scope="module")
def plan(folder: Path) -> tuple[Configuration, ...]:
    return campaign_plan(SM_COUNT, "1a2b3c4d", folder)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plan_and_another_seed_another(
    plan: tuple[Configuration, ...], folder: Path
):
    assert campaign_plan(SM_COUNT, "1a2b3c4d", folder) == plan
    assert campaign_plan(SM_COUNT, "1a2b3c4d", folder, seed=1) != plan


def test_names_are_unique_and_fit_for_files(plan: tuple[Configuration, ...]):
    names = [configuration.name for configuration in plan]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w.-]{1,120}", name) for name in names)


@pytest.mark.slow
def test_every_slice_of_the_grid_is_there_with_its_source(plan: tuple[Configuration, ...]):
    slices = {entry.benchmark: entry for entry in plan if entry.dataset == "slices-1a2b3c4d"}
    grid = default_grid(SM_COUNT)
    assert set(slices) == {spec.name for spec in grid}
    assert all(slices[spec.name].source.read_text() == source(spec) for spec in grid)


def test_every_repeatable_kernel_is_there_at_every_size_but_the_small(plan: tuple[Configuration, ...]):
    found = {
        (entry.benchmark, entry.choice.kernel, entry.arguments)
        for entry in plan
        if entry.dataset == "kernels-1a2b3c4d"
    }
    assert found == {
        (program.name, kernel, tuple(str(argument) for argument in run.arguments))
        for program in load_manifest()
        if program.repeatable
        for run in program.runs
        if run.size is not RunSize.SMALL
        for kernel in program.kernels
    }


def test_ten_configurations_are_measured_three_times(plan: tuple[Configuration, ...]):
    times = Counter((entry.benchmark, entry.choice, entry.arguments) for entry in plan)
    assert sorted(times.values())[-11:] == [1, *[3] * 10]


def test_the_first_sixth_is_a_design_in_itself(plan: tuple[Configuration, ...]):
    first = plan[: len(plan) // 6]
    kinds = Counter(entry.dataset.split("-")[0] for entry in first)
    assert kinds["slices"] >= 20
    assert kinds["kernels"] >= 20
    spaces = {entry.benchmark.split("_")[0] for entry in first if entry.dataset.startswith("slices")}
    assert spaces == {"global", "shared", "constant", "texture", "l2", "registers"}


def test_the_intensity_sweep_stands_in_the_first_round_with_its_facts(
    plan: tuple[Configuration, ...], folder: Path
):
    sweep = {
        entry.benchmark: number for number, entry in enumerate(plan) if entry.dataset == "sweep-1a2b3c4d"
    }
    points = intensity_sweep(SM_COUNT)
    assert set(sweep) == {point.spec.name for point in points}
    assert max(sweep.values()) < len(plan) / 4
    rows = {row.benchmark: row for row in read_sweep(folder / "measured_sweep.csv")}
    for point in points:
        row = rows[point.spec.name]
        assert (row.work_flop, row.traffic_bytes) == (point.work_flop, point.traffic_bytes)
        assert row.precision == ("single" if point.spec.kind.value == "fp32" else "double")
        assert plan[sweep[point.spec.name]].source.read_text() == source(point.spec)


def test_the_sweep_alone_is_the_same_configurations(plan: tuple[Configuration, ...], tmp_path: Path):
    alone = sweep_plan(SM_COUNT, "1a2b3c4d", tmp_path)
    known = {entry.name: entry.version for entry in plan}
    assert len(alone) == 24
    assert all(known[entry.name] == entry.version for entry in alone)
    assert [entry.name for entry in sweep_plan(SM_COUNT, "1a2b3c4d", tmp_path, seed=1)] != [
        entry.name for entry in alone
    ]
