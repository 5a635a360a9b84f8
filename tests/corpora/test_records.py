from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice_corpora.measuring.bench import Timing
from wattslice_corpora.measuring.card import write_card
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.records import (
    MEASUREMENT_DIRECTORY,
    MeasuredRow,
    RecordError,
    Timed,
    Use,
    UtilisationRow,
    WorkloadRow,
    card_path,
    measured_gpu_ids,
    measurements_path,
    option,
    page,
    read_card,
    read_measurements,
    read_recipes,
    read_utilisation,
    read_workloads,
    recipes_path,
    utilisation_path,
    workloads_path,
    write_table,
)
from wattslice_corpora.records.page import datasets_page

WITH_ACTIVITY = [gpu_id for gpu_id in measured_gpu_ids() if utilisation_path(gpu_id).exists()]
FULL = MeasuredRow(
    dataset="ours",
    benchmark="scan",
    kernel="up, then down",
    arguments="-n 4 -m=5",
    grid=(4, 2, 1),
    block=(128, 1, 1),
    shared_bytes=0,
    input="random",
    core_mhz=1380.0,
    memory_mhz=877.5,
    time_s=1e-6 / 3,
    power_w=0.1 + 0.2,
    energy_j=1.5e-3,
    idle_power_w=30.0,
    memory_power_w=20.0,
    temperature_c=0.0,
    launches=1_000_000,
    window_s=5.0,
    method="energy counter",
    power_valid=True,
    capped=False,
    throttled=True,
    reason="",
)
OPTIONAL = [
    name for name in MeasuredRow.__struct_fields__ if MeasuredRow.__annotations__[name].endswith("| None")
]
FAILED = replace(FULL, **dict.fromkeys(OPTIONAL), power_valid=False, reason="the sensor is dead", input="")


def table(path, *rows):
    write_table(path, ("a comment",), MeasuredRow, rows)
    return path


def test_measured_rows_read_back_exactly(tmp_path):
    path = table(tmp_path / "m.csv", FULL, FAILED)
    assert read_measurements(path) == (FULL, FAILED)
    assert path.read_text().startswith("# a comment\ndataset,benchmark,kernel,")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.csv"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"power_w": None}, "watts that are valid must be positive"),
        ({"power_w": 0.0}, "watts that are valid must be positive"),
        ({"time_s": 0.0}, "time_s must be positive"),
        ({"launches": 0}, "launches must be positive"),
        ({"core_mhz": 0.0}, "core_mhz must be positive"),
        ({"power_valid": False}, "reason must be told"),
        ({"reason": "no reason"}, "reason must be told"),
        ({"input": "ones"}, "input is 'ones'"),
        ({"method": ""}, "method must be told"),
    ],
)
def test_a_row_that_makes_no_sense_names_its_line(tmp_path, change, complaint):
    path = table(tmp_path / "m.csv", FULL, replace(FULL, **change))
    with pytest.raises(RecordError, match=rf"m\.csv:4: .*{complaint}"):
        read_measurements(path)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("1380.0", "fast", r"m\.csv:3: column 'core_mhz'"),
        ("1380.0", "nan", r"m\.csv:3: column 'core_mhz': not a finite number"),
        ("(4,2,1)", "(4,2)", r"m\.csv:3: column 'grid': not of the form"),
        (",true,", ",yes,", r"m\.csv:3: column 'power_valid': neither"),
        (",true,\n", ",tru", r"m\.csv:3: the last line is cut short"),
        (",true,\n", "\n", r"m\.csv:3: .* cells instead of 23"),
        ("dataset,benchmark", "dataset,bench", r"m\.csv:2: columns must be"),
    ],
)
def test_a_damaged_table_names_its_line(tmp_path, old, new, complaint):
    path = table(tmp_path / "m.csv", FULL)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(RecordError, match=complaint):
        read_measurements(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"m\.csv:1: columns must be"),
        (b"# only a comment\n", r"m\.csv:2: columns must be"),
        (b"\xff\n", r"m\.csv: not UTF-8 text"),
        (b"x" * 200_000 + b"\n", r"m\.csv: not a table \(field larger"),
    ],
)
def test_what_is_no_table_is_told(tmp_path, content, complaint):
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=complaint):
        read_measurements(path)


def test_a_comment_stays_one_line(tmp_path):
    write_table(tmp_path / "m.csv", ("left out:\n scan",), MeasuredRow, (FULL,))
    assert (tmp_path / "m.csv").read_text().startswith("# left out: scan\ndataset,")


@pytest.mark.parametrize(
    "change", [{"power_w": float("nan")}, {"reason": "two\nlines", "power_valid": False}]
)
def test_what_would_not_read_back_is_not_written(tmp_path, change):
    path = table(tmp_path / "m.csv", FULL)
    with pytest.raises(RecordError, match="column"):
        table(path, replace(FULL, **change))
    assert read_measurements(path) == (FULL,)


def test_a_write_that_fails_leaves_the_old_table(tmp_path, monkeypatch):
    path = table(tmp_path / "m.csv", FULL)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        table(path, FULL, FULL)
    monkeypatch.undo()
    assert read_measurements(path) == (FULL,)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.csv"]


def test_workloads_read_back_exactly(tmp_path):
    rows = read_workloads(workloads_path("v100_pcie"))
    write_table(tmp_path / "w.csv", (), WorkloadRow, rows)
    assert read_workloads(tmp_path / "w.csv") == rows


def test_every_table_has_a_card():
    for path in MEASUREMENT_DIRECTORY.glob("*.csv"):
        cards = [gpu_id for gpu_id in measured_gpu_ids() if f"{path.stem}_".startswith(f"{gpu_id}_")]
        assert cards, f"{path.name} has no card"


@pytest.mark.parametrize("gpu_id", measured_gpu_ids())
def test_rows_and_card_tell_the_same(gpu_id):
    card = read_card(card_path(gpu_id))
    rows = read_measurements(measurements_path(gpu_id))
    assert {row.dataset for row in rows} == {entry.key for entry in card.datasets}
    for entry in card.datasets:
        here = [row for row in rows if row.dataset == entry.key]
        for invalid in entry.invalid:
            assert any(invalid.hit(row) for row in here), f"{invalid} hits no row"
            assert all(
                not row.power_valid and invalid.reason in row.reason for row in here if invalid.hit(row)
            )


def test_a_broken_card_names_its_data_set(tmp_path):
    path = tmp_path / "gpu.toml"
    text = card_path("v100_pcie").read_text()
    for old, new, complaint in (
        ('use = "test"', 'use = "both"', "hkbu-real.*both"),
        ("measured_by", "measured", "hkbu-micro.*measured_by"),
        ('key = "hkbu-real"', 'key = "hkbu-micro"', "stands twice"),
        ("[[dataset]]", "[[set]]", "missing or malformed"),
        ('board = "', "board = ", "missing or malformed"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(RecordError, match=rf"gpu\.toml.*{complaint}"):
            read_card(path)
    with pytest.raises(RecordError, match=r"no .*'other'"):
        read_card(card_path("v100_pcie")).dataset("other")


def test_a_broken_recipe_names_its_benchmark(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('repository=""\ninclude=[]\n[[benchmark]]\nname="odd"\nfile="f"\n')
    with pytest.raises(RecordError, match=r"odd.*launch"):
        read_recipes(path)


@pytest.mark.parametrize("gpu_id", ["v100_pcie", "quadro_rtx_8000"])
def test_integers_draw_what_floats_draw_once_both_are_idle(gpu_id):
    """What docs/energy-model.md says of live and idle values: zeros from ratio 16 on."""
    watts = {
        (row.kernel, int(option(row.arguments, "ratio")), row.core_mhz): row.power_w
        for row in read_measurements(measurements_path(gpu_id))
        if row.benchmark == "mixbench-cuda-alt" and row.power_valid and row.power_w is not None
    }
    more = {
        (ratio, mhz): power_w / watts["benchmark_float", ratio, mhz] - 1.0
        for (kernel, ratio, mhz), power_w in watts.items()
        if kernel == "benchmark_int"
    }
    assert max(abs(share) for (ratio, _), share in more.items() if ratio >= 16) < 0.022
    assert min(share for (ratio, _), share in more.items() if ratio == 1) > 0.18


def test_programs_that_run_on_zeros_are_said_to_be_idle():
    for path in sorted(MEASUREMENT_DIRECTORY.glob("*.toml")):
        if "[[benchmark]]" not in path.read_text(encoding="utf-8"):
            continue
        for benchmark in read_recipes(path).benchmarks:
            if benchmark.input == "zeros":
                assert all(launch.live for launch in benchmark.launches), f"{path.name}: {benchmark.name}"


def test_the_page_of_the_data_sets_is_up_to_date():
    path = Path(__file__).parents[2] / "docs" / "appendix" / "datasets.md"
    assert path.read_text(encoding="utf-8") == datasets_page(), (
        "run `python -m wattslice_corpora.records.page docs/appendix/datasets.md`"
    )
    for name in MeasuredRow.__struct_fields__:
        assert f"`{name}`" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_written_or_the_fault_told(tmp_path, capsys):
    assert page.main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == datasets_page()
    assert page.main([]) == 2
    assert page.main([str(tmp_path / "no" / "page.md")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize("gpu_id", measured_gpu_ids())
def test_every_program_of_a_public_set_has_features_or_a_reason(gpu_id):
    sets = {entry.key: entry.recipes for entry in read_card(card_path(gpu_id)).datasets if entry.recipes}
    public = [row for row in read_measurements(measurements_path(gpu_id)) if row.dataset in sets]
    recipes = {name: read_recipes(recipes_path(name)) for name in set(sets.values())}
    features = read_workloads(workloads_path(gpu_id)) if public else ()
    featured = {(row.benchmark, row.kernel, row.arguments) for row in features}
    for row in public:
        lacking = [row.benchmark in entry.names for entry in recipes[sets[row.dataset]].without_recipe]
        assert ((row.benchmark, row.kernel, row.arguments) in featured) != any(lacking), row


def test_the_card_of_a_campaign_is_read_like_any_other(tmp_path):
    board = Board("NVIDIA H200", "GPU-0", "0000:00", "580.1", "13.0", None)
    write_card(tmp_path, board, "h200", "GH100", Timing(), None)
    found = read_card(tmp_path / "card.toml")
    assert (found.chip, found.driver) == ("GH100", "580.1, CUDA 13.0")
    assert {entry.timed for entry in found.datasets} == {Timed.KERNEL}
    assert {entry.use for entry in found.datasets} == {Use.TRAINING, Use.TEST}


@pytest.mark.parametrize("gpu_id", WITH_ACTIVITY)
def test_every_row_of_activity_belongs_to_a_measured_run(gpu_id):
    counted = {entry.key for entry in read_card(card_path(gpu_id)).datasets if entry.utilisation_path}
    keys = [
        (row.dataset, row.benchmark, row.kernel, row.arguments, row.core_mhz, row.memory_mhz)
        for row in (
            *(row for row in read_measurements(measurements_path(gpu_id)) if row.dataset in counted),
            *read_utilisation(utilisation_path(gpu_id)),
        )
    ]
    assert set(Counter(keys).values()) == {2}


def test_activity_is_a_fraction(tmp_path):
    row = read_utilisation(utilisation_path("v100_pcie"))[0]
    write_table(tmp_path / "d.csv", (), UtilisationRow, (row, replace(row, sm_active=75.0)))
    with pytest.raises(RecordError, match=r"d\.csv:3: sm_active must be a fraction"):
        read_utilisation(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("gpu_id", "programs"), [("gtx_1080_ti", 22), ("p100_pcie", 22), ("gtx_980", 22), ("v100_pcie", 22)]
)
def test_the_recipes_launch_what_the_profiler_saw(gpu_id, programs):
    recipes = read_recipes(recipes_path("nv_dvfs_benchmark"))
    rows = [row for row in read_measurements(measurements_path(gpu_id)) if row.grid is not None]
    seen: set[str] = set()
    for row in rows:
        recipe = recipes.find(row.benchmark, row.arguments)
        if recipe is not None:
            seen.add(row.benchmark)
            assert (row.grid, row.block) in {(one.grid, one.block) for one in recipe.launches}, row
    assert len(seen) == programs
