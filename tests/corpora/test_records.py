from dataclasses import fields, replace

import pytest

from wattslice_corpora.records import (
    MEASUREMENT_DIRECTORY,
    MeasuredRow,
    RecordError,
    WorkloadRow,
    card_path,
    measured_gpu_ids,
    measurements_path,
    read_card,
    read_measurements,
    read_recipes,
    read_workloads,
    workloads_path,
    write_table,
)

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
OPTIONAL = [field.name for field in fields(MeasuredRow) if str(field.type).endswith("| None")]
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
        ({"core_mhz": 0.0}, "clocks must be positive"),
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
    tables = {path.stem for path in MEASUREMENT_DIRECTORY.glob("*.csv")}
    suffixes = ("", "_workloads")
    assert tables == {
        f"{gpu_id}{suffix}"
        for gpu_id in measured_gpu_ids()
        for suffix in suffixes
        if f"{gpu_id}{suffix}" in tables or not suffix
    }


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
