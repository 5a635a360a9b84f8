"""Nothing that was measured is lost, however a campaign ends."""

import errno
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from wattslice_corpora.measuring import campaign as campaign_module
from wattslice_corpora.measuring import journal as journal_module
from wattslice_corpora.measuring.bench import Configuration, Measured
from wattslice_corpora.measuring.campaign import Progress, run_campaign
from wattslice_corpora.measuring.errors import AllFailError, ConfigurationError, MeasureError
from wattslice_corpora.measuring.journal import Journal
from wattslice_corpora.measuring.power import Method, Power
from wattslice_corpora.measuring.sensor import SensorError
from wattslice_corpora.measuring.trace import Trace, read_trace
from wattslice_corpora.records import read_measurements

from .fake_campaign import COUNT, IDENTITY, FakeBench, plan

TABLES = ("measured.csv", "methods.csv")
SCRIPT = Path(__file__).with_name("fake_campaign.py")


def run(folder: Path, budget_s: float | None = None) -> list[str]:
    """Runs the fake campaign in this process; what it measured that was not a second try."""
    bench = FakeBench()
    with Journal(folder, IDENTITY) as journal:
        failed = {entry.name for entry in journal.entries if not entry.row.power_valid}
        run_campaign(plan(), bench, journal, ("fake",), budget_s)
    assert failed <= set(bench.measured) or budget_s is not None
    return [name for name in bench.measured if name not in failed]


def start(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    """Runs it in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), str(seconds)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def lines_of(folder: Path) -> int:
    path = folder / "journal.jsonl"
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert len(run(folder)) == COUNT
    return folder


def same(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in TABLES)


@pytest.mark.slow
def test_killed_twice_it_ends_with_the_same_rows(undisturbed: Path, tmp_path: Path):
    for least in (4, 12):
        process = start(tmp_path, 0.03)
        deadline_s = time.monotonic() + 300
        while lines_of(tmp_path) < least and time.monotonic() < deadline_s:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert least <= lines_of(tmp_path) < COUNT
    before = lines_of(tmp_path)
    assert len(run(tmp_path)) in (COUNT - before, COUNT + 1 - before)
    assert same(tmp_path, undisturbed)


class FullDisk:
    """Stands in for the journal's file: of the next line, only some bytes fit."""

    def __init__(self, file: Any, room: int) -> None:
        self._file = file
        self._room = room

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        if self._room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._file.write(data[: self._room])
        self._room -= written
        return written


@pytest.mark.slow
def test_a_full_disk_loses_nothing_and_the_next_run_goes_on(undisturbed: Path, tmp_path: Path):
    with Journal(tmp_path, IDENTITY) as journal:
        journal._file = cast("Any", FullDisk(journal._file, room=2500))
        with pytest.raises(MeasureError, match=r"No space left on device.*make room"):
            run_campaign(plan(), FakeBench(), journal, ("fake",))
        kept = len(journal.entries)
    assert 0 < kept < COUNT
    assert (tmp_path / "journal.jsonl").read_bytes().endswith(b"\n")
    assert len(read_measurements(tmp_path / "measured.csv")) == kept
    assert len(run(tmp_path)) == COUNT - kept
    assert same(tmp_path, undisturbed)


@pytest.mark.slow
def test_a_disk_too_full_for_a_trace_or_a_table_loses_nothing(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run(tmp_path, budget_s=0.0)
    for name in ("write_trace", "write_table"):
        with monkeypatch.context() as patch:
            patch.setattr(journal_module, name, full)
            with pytest.raises(MeasureError, match="No space left on device"):
                run(tmp_path)
        assert not list((tmp_path / "traces").glob("*.tmp"))
    run(tmp_path)
    assert same(tmp_path, undisturbed)


@pytest.mark.slow
def test_a_half_written_line_is_dropped_and_measured_again(undisturbed: Path, tmp_path: Path):
    run(tmp_path)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    with Journal(tmp_path, IDENTITY) as journal:
        assert (journal.dropped, len(journal.entries)) == (1, COUNT - 1)
    assert run(tmp_path) == [f"c{COUNT - 1}"]
    assert same(tmp_path, undisturbed)


def test_a_line_with_a_flipped_bit_is_measured_again(undisturbed: Path, tmp_path: Path):
    run(tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[5] = lines[5].replace(b"program4", b"program5")
    path.write_bytes(b"\n".join(lines))
    assert run(tmp_path) == ["c04"]
    assert same(tmp_path, undisturbed)


def test_rows_that_fail_are_kept_with_their_reason(undisturbed: Path):
    rows = read_measurements(undisturbed / "measured.csv")
    failed = [row for row in rows if not row.power_valid]
    assert len(rows) == COUNT
    assert failed
    assert all("killed by signal 11" in row.reason and row.power_w is None for row in failed)


@pytest.mark.slow
def test_a_row_that_was_not_valid_gets_a_second_chance(undisturbed: Path, tmp_path: Path):
    class Unlucky(FakeBench):
        def measure(self, configuration: Configuration) -> Measured:
            raise ConfigurationError("no room in /tmp")

    with Journal(tmp_path, IDENTITY) as journal:
        run_campaign(plan(), Unlucky(), journal, ("fake",))
    assert not any(row.power_valid for row in read_measurements(tmp_path / "measured.csv"))
    assert run(tmp_path) == []
    assert same(tmp_path, undisturbed)


class Breaking(FakeBench):
    """Runs nothing from the seventh configuration to number `until`."""

    def __init__(self, until: int, error: Exception) -> None:
        super().__init__()
        self.until = until
        self.error = error

    def measure(self, configuration: Configuration) -> Measured:
        if 6 <= int(configuration.name[1:]) < self.until:
            raise self.error
        return super().measure(configuration)


def test_many_failures_in_a_row_stop_it_and_are_measured_again(undisturbed: Path, tmp_path: Path):
    with Journal(tmp_path, IDENTITY) as journal:
        with pytest.raises(AllFailError, match="8 programs in a row failed, the last: driver too old"):
            run_campaign(
                plan(),
                Breaking(COUNT, ConfigurationError("driver too old")),
                journal,
                ("fake",),
                most_failures=8,
            )
        assert len(journal.entries) == 6
    assert run(tmp_path)
    assert same(tmp_path, undisturbed)


def test_a_few_failures_in_a_row_are_kept_when_something_runs_again(tmp_path: Path):
    with Journal(tmp_path, IDENTITY) as journal:
        bench = Breaking(6 + 4, ConfigurationError("no"))
        outcome = run_campaign(plan(), bench, journal, ("fake",), most_failures=8)
        assert outcome.left == 0
        assert [entry.name for entry in journal.entries] == [one.name for one in plan()]
    failed = [row for row in read_measurements(tmp_path / "measured.csv") if row.reason == "no"]
    assert len(failed) == 4


@pytest.mark.parametrize("until", [COUNT, 10])
def test_failures_at_the_end_are_kept(tmp_path: Path, until: int):
    with Journal(tmp_path, IDENTITY) as journal:
        run_campaign(
            plan(), Breaking(until, ConfigurationError("no")), journal, ("fake",), most_failures=COUNT
        )
    assert len(read_measurements(tmp_path / "measured.csv")) == COUNT


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SensorError("GPU is lost"), "SensorError: GPU is lost"),
        (KeyError("x"), "KeyError: 'x'"),
        (OSError(errno.EIO, "broken"), "[Errno 5] broken"),
        (MeasureError("it ran on GPU 2"), "it ran on GPU 2"),
    ],
)
def test_whatever_a_configuration_does_is_the_reason_of_its_row(tmp_path: Path, error: Exception, said: str):
    with Journal(tmp_path, IDENTITY) as journal:
        run_campaign(plan(), Breaking(7, error), journal, ("fake",), most_failures=3)
    row = read_measurements(tmp_path / "measured.csv")[6]
    assert (row.reason, row.power_valid, row.method) == (said, False, "none")


def test_what_the_bench_cannot_do_at_all_ends_a_campaign_without_a_limit(tmp_path: Path):
    with Journal(tmp_path, IDENTITY) as journal, pytest.raises(MeasureError, match="it ran on GPU 2"):
        run_campaign(plan(), Breaking(7, MeasureError("it ran on GPU 2")), journal, ("fake",))


@pytest.mark.parametrize("defect", [ValueError("no plateau"), None])
def test_a_trace_that_makes_no_sense_is_kept_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: Exception | None
):
    """`power_of` fails, or gives what no table can hold."""
    known = campaign_module.power_of

    def power_of(trace: Trace, method: Method | None = None) -> Power:
        if defect is not None:
            raise defect
        return replace(known(trace, method), power_w=float("nan"))

    monkeypatch.setattr(campaign_module, "power_of", power_of)
    with Journal(tmp_path, IDENTITY) as journal:
        run_campaign(plan()[:4], FakeBench(), journal, ("fake",))
    said = "ValueError: no plateau" if defect else "ValueError: Out of range float values"
    found = [row.reason.startswith(said) for row in read_measurements(tmp_path / "measured.csv")]
    assert len(found) == 4
    assert sum(found) == len(list((tmp_path / "traces").glob("*.csv.gz"))) > 1


@pytest.mark.slow
def test_a_result_of_another_version_of_a_program_does_not_count(tmp_path: Path):
    run(tmp_path)
    edited = tuple(replace(configuration, version="2") for configuration in plan())
    bench = FakeBench()
    with Journal(tmp_path, IDENTITY) as journal:
        run_campaign(edited, bench, journal, ("fake",))
        assert len(journal.entries) == COUNT
    assert len(bench.measured) == COUNT


def test_the_tables_leave_out_what_another_version_of_a_program_gave(tmp_path: Path):
    run(tmp_path)
    versions = tuple((entry.name, "2" if entry.name == "c03" else "1") for entry in plan())
    with Journal(tmp_path, IDENTITY) as journal:
        table = journal.write_tables((), versions)
    assert "program3" not in {row.benchmark for row in read_measurements(table)}
    assert len(read_measurements(table)) == COUNT - 1


def test_a_line_of_an_older_version_of_wattslice_is_measured_again(undisturbed: Path, tmp_path: Path):
    run(tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    text = lines[3].partition(b" ")[2].replace(b'"reason":"",', b"").replace(b',"reason":""', b"")
    lines[3] = b"%08x %b" % (zlib.crc32(text), text)
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert run(tmp_path) == ["c02"]
    assert same(tmp_path, undisturbed)


def test_a_damaged_first_line_costs_nothing(undisturbed: Path, tmp_path: Path):
    run(tmp_path)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    assert run(tmp_path) == []
    assert same(tmp_path, undisturbed)


def test_every_valid_row_has_its_raw_trace(undisturbed: Path):
    rows = read_measurements(undisturbed / "measured.csv")
    traces = sorted((undisturbed / "traces").glob("*.csv.gz"))
    assert len(traces) == sum(row.power_valid for row in rows)
    assert all(len(read_trace(path).readings) > 200 for path in traces)


def test_a_time_budget_is_kept_and_the_rest_is_left(tmp_path: Path):
    class Slow(FakeBench):
        now_s = 0.0

        def measure(self, configuration: Configuration) -> Measured:
            self.now_s += 9.0
            return super().measure(configuration)

    bench, told = Slow(), list[Progress]()
    with Journal(tmp_path, IDENTITY) as journal:
        outcome = run_campaign(plan(), bench, journal, (), 100.0, tell=told.append, clock=lambda: bench.now_s)
    assert (outcome.measured, bench.now_s) == (11, 99.0)
    assert outcome.measured + outcome.left == COUNT
    assert [progress.done for progress in told] == list(range(1, outcome.measured + 1))


def test_two_campaigns_do_not_write_into_one_folder(tmp_path: Path):
    with Journal(tmp_path, IDENTITY), pytest.raises(MeasureError, match="another campaign is writing here"):
        Journal(tmp_path, IDENTITY).__enter__()


def test_a_folder_of_another_board_is_refused(tmp_path: Path):
    run(tmp_path, budget_s=0.0)
    with pytest.raises(MeasureError, match=r"campaign of another kind.*choose another --out"):
        Journal(tmp_path, "another board").__enter__()


def test_a_folder_that_is_no_campaign_is_refused(tmp_path: Path):
    (tmp_path / "journal.jsonl").write_text("my precious notes\n")
    with pytest.raises(MeasureError, match="not the journal of a campaign"):
        Journal(tmp_path, IDENTITY).__enter__()
    assert (tmp_path / "journal.jsonl").read_text() == "my precious notes\n"
