"""The campaign in pieces, on a bench without a GPU and with a clock of its own: nothing measured is lost."""

import contextlib
import csv
import errno
import gzip
import io
import os
import shutil
import signal
import tarfile
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from wattslice_corpora.manifest import load_manifest
from wattslice_corpora.measuring.bench import Configuration, Measured
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError
from wattslice_corpora.measuring.journal import Journal, read_entries
from wattslice_corpora.measuring.program import Launch, Window
from wattslice_corpora.measuring.sensor import Board, Reading, SensorError, Throttle
from wattslice_corpora.measuring.trace import Trace
from wattslice_corpora.records import read_measurements
from wattslice_tools.campaign import home
from wattslice_tools.campaign import piece as piece_module
from wattslice_tools.campaign.__main__ import main
from wattslice_tools.campaign.counters import CountersRefusedError
from wattslice_tools.campaign.home import Packer, merge
from wattslice_tools.campaign.piece import BUDGET_S, MOST_FAILURES, Done, Lab, run_piece
from wattslice_tools.campaign.planned import any_board, left_for, log_rows, pieces_of
from wattslice_tools.campaign.probes import probe_rows
from wattslice_tools.campaign.rehearsal import log_page
from wattslice_tools.campaign.sections import Section, make_plan
from wattslice_tools.campaign.sensor_check import CHECK_S, RESULT, Wave, judge_sensor

from ..corpora.power_traces import Course

pytestmark = pytest.mark.slow

EACH = 3
BOARD = Board("NVIDIA H200", "GPU-0123abcd-1", "0000:1B:00.0", "580.00", "13.0", 700.0)


class KilledError(BaseException):
    """The machine is gone."""


class FakeMachine(Struct):
    """A GPU that takes `each_s` for a configuration; it dies before measurement number `dies_at`."""

    each_s: float = 4.0
    dies_at: int | None = None
    board: Board = BOARD
    refuses: bool = True
    flags: tuple[str, ...] = ()
    now_s: float = 0.0
    measured: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    dead: bool = False

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Nothing to build."""

    def measure(self, configuration: Configuration) -> Measured:
        """Watts follow from the name; every fifth program crashes."""
        self._spend(self.each_s)
        self.measured.append(configuration.name)
        number = zlib.crc32(configuration.benchmark.encode())
        if number % 5 == 0:
            raise ConfigurationError(f"{configuration.benchmark}: killed by signal 11")
        launch = Launch(0, "k", (number % 500 + 1, 1, 1), (256, 1, 1), 0, 0, 16, "0000:1B:00.0")
        return Measured(launch, Course(busy_w=100.0 + number % 400).trace())

    def check(self, folder: Path) -> None:
        """The sensor check."""
        self._spend(CHECK_S)
        (folder / RESULT).write_text('{"check": {}}\n')

    def count(self, configuration: Configuration) -> dict[str, float]:
        """Counters, where it gives them."""
        if self.refuses:
            raise CountersRefusedError("ncu: ERR_NVGPUCTRPERM")
        self._spend(self.each_s)
        return {"smsp__inst_executed.sum": 1.0}

    def lab(self) -> Lab:
        """For a piece."""
        chip, key = Chip(132, "sm_90"), self.board.uuid.removeprefix("GPU-").split("-")[0]
        return Lab(
            self.board, chip, key, self.flags, self, lambda kernels, plan: self, self.check, self.count
        )

    def _spend(self, seconds: float) -> None:
        if self.dies_at is not None and len(self.measured) >= self.dies_at:
            self.dead = True
            raise KilledError
        self.now_s += seconds


class BrokenMachine(FakeMachine):
    """Runs nothing from measurement number `from_number` on."""

    from_number: int = 0

    def measure(self, configuration: Configuration) -> Measured:
        """The driver is too old."""
        if len(self.measured) < self.from_number:
            return super().measure(configuration)
        self._spend(1.0)
        self.measured.append(configuration.name)
        raise ConfigurationError("CUDA driver version is insufficient")

    def check(self, folder: Path) -> None:
        """Neither does the sensor check."""
        raise ConfigurationError("the square wave failed: no GPU")

    def count(self, configuration: Configuration) -> dict[str, float]:
        """Nor the profiler."""
        self._spend(1.0)
        raise ConfigurationError("ncu: no counters")


def quiet(words: str) -> None:
    """Says nothing."""


def piece(
    machine: FakeMachine,
    home_folder: Path,
    place: Path,
    budget_s: float = BUDGET_S,
    each: int | None = EACH,
    most_failures: int = MOST_FAILURES,
) -> Done | None:
    """A machine that starts with what is at home; only what it packed comes back. None when it died."""
    shutil.rmtree(place / "out", ignore_errors=True)
    shutil.rmtree(place / "campaign", ignore_errors=True)
    there, out = place / "campaign", place / "out"
    if home_folder.exists():
        shutil.copytree(home_folder, there)
    done = None
    clock = lambda: machine.now_s  # noqa: E731
    with contextlib.suppress(KilledError):
        done = run_piece(machine.lab(), there, out, budget_s, each, clock, machine.said.append, most_failures)
    merge(home_folder, out.glob("*.tar.gz"))
    return done


def results(folder: Path) -> dict[str, str]:
    """Watts by name, without what every piece repeats."""
    with (folder / "0123abcd" / "methods.csv").open() as stream:
        lines = [line for line in stream if not line.startswith("#")]
    return {
        row["name"]: row["energy_counter_w"] for row in csv.DictReader(lines) if "--piece" not in row["name"]
    }


@pytest.fixture(scope="module", autouse=True)
def only_each() -> Iterator[None]:
    """At home, too, the plan has a few of every section only."""
    plan = home.BoardFolder.plan
    with pytest.MonkeyPatch.context() as patch:

        def a_few(found: home.BoardFolder, each: int | None = None) -> home.Plan:
            return plan(found, each or EACH)

        patch.setattr(home.BoardFolder, "plan", a_few)
        yield


PACK = Packer.pack


def cut_off(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that died packs nothing any more."""

    def pack(packer: Packer) -> Path:
        return Path() if machine.dead else PACK(packer)

    monkeypatch.setattr(Packer, "pack", pack)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = piece(FakeMachine(), folder / "home", folder / "machine", 1000.0)
    assert done is not None
    assert not done.trouble
    assert not any(one.count for one in done.left)
    return folder / "home"


@pytest.fixture(scope="module")
def undisturbed_packet(undisturbed: Path) -> Path:
    (packet,) = (undisturbed.parent / "machine" / "out").glob("*.tar.gz")
    return packet


def test_a_piece_ends_in_time_and_the_next_goes_on(undisturbed: Path, tmp_path: Path):
    measured: list[str] = []
    done: Done | None = None
    for _ in range(20):
        machine = FakeMachine()
        done = piece(machine, tmp_path / "home", tmp_path / "machine", 45.0)
        assert done is not None
        assert machine.now_s <= 45.0
        measured += [name for name in machine.measured if "--piece" not in name]
        if not any(one.count or one.check for one in done.left):
            break
    assert done is not None
    assert 3 < done.piece < 20
    again = {name for name in measured if measured.count(name) == 2}
    failed = {entry.name for entry in read_entries(tmp_path / "home" / "0123abcd") if entry.row.reason}
    assert again == {name for name in failed if "--piece" not in name}
    assert max(map(measured.count, measured)) == 2
    assert results(tmp_path / "home") == results(undisturbed)


def test_killed_in_every_piece_it_ends_with_the_same_rows(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    killed = 0
    for dies_at in (0, 1, 5, 9, 11, 12, 13, 14, 16, 20):
        machine = FakeMachine(dies_at=dies_at)
        cut_off(machine, monkeypatch)
        killed += piece(machine, tmp_path / "home", tmp_path / "machine") is None
    machine = FakeMachine()
    cut_off(machine, monkeypatch)
    done = piece(machine, tmp_path / "home", tmp_path / "machine")
    assert killed >= 6
    assert done is not None
    assert not any(one.count for one in done.left)
    assert results(tmp_path / "home") == results(undisturbed)
    assert len(machine.measured) < len(results(undisturbed))


def test_when_nothing_is_left_nothing_is_measured(undisturbed: Path, tmp_path: Path):
    shutil.copytree(undisturbed, tmp_path / "home")
    machine = FakeMachine()
    piece(machine, tmp_path / "home", tmp_path / "machine")
    assert not machine.measured


def test_at_most_half_a_minute_is_lost_to_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    machine = FakeMachine(dies_at=20)
    cut_off(machine, monkeypatch)
    piece(machine, tmp_path / "home", tmp_path / "machine")
    found = home.state_of(tmp_path / "home", BOARD)
    assert len(found.entries) + len(found.runs) >= 20 - 30.0 / machine.each_s


def test_no_room_for_the_packet_is_told_and_the_piece_measures_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "add", full)
        machine = FakeMachine()
        done = piece(machine, tmp_path / "home", tmp_path / "machine")
    assert done is not None
    assert "the disk is full" in done.trouble
    assert len(machine.measured) > EACH
    assert not list((tmp_path / "machine" / "out").iterdir())


def test_a_full_disk_ends_the_piece_and_what_was_measured_comes_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class FullLater(FakeMachine):
        def measure(self, configuration: Configuration) -> Measured:
            if len(self.measured) == 7:
                monkeypatch.setattr("wattslice_corpora.measuring.journal.write_trace", full)
            return super().measure(configuration)

    machine = FullLater()
    done = piece(machine, tmp_path / "home", tmp_path / "machine")
    monkeypatch.undo()
    assert done is not None
    assert "No space left on device" in done.trouble
    assert len(machine.measured) > 7
    assert len(read_entries(tmp_path / "home" / "0123abcd")) == len(machine.measured) - 1


def test_another_board_of_the_same_kind_goes_on_under_its_own_name(tmp_path: Path):
    first, second = FakeMachine(), FakeMachine(board=replace(BOARD, uuid="GPU-4567cdef-2"))
    piece(first, tmp_path / "home", tmp_path / "machine", 60.0)
    piece(second, tmp_path / "home", tmp_path / "machine", 60.0)
    both = {name for name in first.measured if name in second.measured}
    assert not both
    rows = read_measurements(tmp_path / "home" / "4567cdef" / "measured.csv")
    assert {row.dataset.rpartition("-")[2] for row in rows} == {"4567cdef"}


def test_another_kind_of_board_begins_anew(tmp_path: Path):
    first = FakeMachine()
    second = FakeMachine(board=replace(BOARD, name="NVIDIA H100", uuid="GPU-4567cdef-2"))
    piece(first, tmp_path / "home", tmp_path / "machine", 60.0)
    piece(second, tmp_path / "home", tmp_path / "machine", 60.0)
    assert {name.partition("--")[0] for name in first.measured} == {
        name.partition("--")[0] for name in second.measured
    }


def test_rows_are_judged_anew_from_their_traces(undisturbed: Path, tmp_path: Path):
    campaign = tmp_path / "campaign"
    shutil.copytree(undisturbed, campaign)
    (found,) = home.boards(campaign)
    home.judge_anew(found)  # a trace has its times rounded
    assert home.judge_anew(found) == 0
    rows = read_measurements(found.folder / "measured.csv")
    entry = next(one for one in read_entries(found.folder) if one.row.power_valid)
    with Journal(found.folder, found.identity) as journal:
        journal.add(replace(entry, row=replace(entry.row, power_w=1.0, reason="old rule")), None)
    assert home.judge_anew(found) == 1
    assert read_measurements(found.folder / "measured.csv") == rows


def test_a_torn_packet_gives_what_is_whole_in_it(tmp_path: Path):
    piece(FakeMachine(), tmp_path / "home", tmp_path / "machine")
    (packet,) = (tmp_path / "machine" / "out").glob("*.tar.gz")
    packet.write_bytes(packet.read_bytes()[: packet.stat().st_size * 3 // 4])
    faults = merge(tmp_path / "elsewhere", [packet])
    assert len(faults) == 1
    assert "what was whole is taken" in faults[0]
    assert list((tmp_path / "elsewhere").rglob("*.csv.gz"))


def damaged(packet: Path, other: Path, name: str) -> Path:
    """The packet with another first byte in one of its files, its gzip and tar whole."""
    with tarfile.open(packet) as tar, tarfile.open(other, "w:gz") as changed:
        for member in tar:
            stream = tar.extractfile(member)
            assert stream is not None
            content = stream.read()
            changed.addfile(
                member, io.BytesIO(bytes([content[0] ^ 1]) + content[1:] if member.name == name else content)
            )
    return other


@pytest.mark.parametrize("name", ["0123abcd/journal.jsonl", "0123abcd/machine.json", home.SUMS, "trace"])
def test_a_damaged_file_is_refused_by_name_and_the_others_are_taken(
    undisturbed_packet: Path, tmp_path: Path, name: str
):
    with tarfile.open(undisturbed_packet) as tar:
        names = tar.getnames()
    name = next(one for one in names if one.endswith(".csv.gz")) if name == "trace" else name
    (fault,) = home.unpack(damaged(undisturbed_packet, tmp_path / "damaged.tar.gz", name), tmp_path / "home")
    wanted = names[1] if name == home.SUMS else name  # the sums begin with that of the first file
    assert fault.startswith(f"{tmp_path / 'damaged.tar.gz'}: damaged: {wanted}")
    assert "copy it again" in fault
    found = {path.relative_to(tmp_path / "home").as_posix() for path in (tmp_path / "home").rglob("*")}
    assert {one for one in found if (tmp_path / "home" / one).is_file()} == set(names) - {wanted, home.SUMS}


def test_a_flipped_bit_anywhere_is_told_or_changes_nothing(undisturbed_packet: Path, tmp_path: Path):
    content = undisturbed_packet.read_bytes()
    packet = tmp_path / "packet.tar.gz"
    home.unpack(undisturbed_packet, tmp_path / "whole")
    whole = files_in(tmp_path / "whole")
    told = 0
    for at in range(60, len(content) - 200, len(content) // 12):
        packet.write_bytes(content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :])
        faults = home.unpack(packet, tmp_path / str(at))
        taken = files_in(tmp_path / str(at))
        assert taken.items() <= whole.items()
        assert taken == whole if not faults else "copy it again" in faults[0]
        told += len(faults)
    assert told > 6  # a bit between two files of the archive is nobody's


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_packet_that_cannot_be_unpacked_to_its_end_gives_what_came_before(
    undisturbed_packet: Path, tmp_path: Path
):
    with tarfile.open(undisturbed_packet) as tar:
        member = next(one for one in tar if one.name == "0123abcd/methods.csv")
    content = gzip.decompress(undisturbed_packet.read_bytes())[: member.offset_data + 1]
    compressor = zlib.compressobj(wbits=31)
    packed = compressor.compress(content) + compressor.flush(zlib.Z_FULL_FLUSH)
    (tmp_path / "packet.tar.gz").write_bytes(packed + bytes([255]) * 4096)
    (fault,) = home.unpack(tmp_path / "packet.tar.gz", tmp_path / "home")
    assert "0123abcd/methods.csv" in fault
    assert (tmp_path / "home" / "0123abcd" / "journal.jsonl").exists()


def test_a_file_that_is_no_packet_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for content in (b"", b"not a packet"):
        (tmp_path / "packet.tar.gz").write_bytes(content)
        (fault,) = merge(tmp_path / "home", [tmp_path / "packet.tar.gz"])
        assert "packet.tar.gz: " in fault
        assert "all of it" in fault
    assert main(["--folder", str(tmp_path / "home"), "merge", str(tmp_path / "nothing.tar.gz")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_merging_twice_changes_nothing(tmp_path: Path):
    piece(FakeMachine(), tmp_path / "home", tmp_path / "machine", 60.0)
    before = {path: path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()}
    merge(tmp_path / "home", (tmp_path / "machine" / "out").glob("*.tar.gz"))
    assert {path: path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()} == before


def test_when_nothing_runs_the_piece_says_what_to_do_and_nothing_counts_as_done(tmp_path: Path):
    machine = BrokenMachine()
    done = piece(machine, tmp_path / "home", tmp_path / "machine", each=10)
    assert done is not None
    assert done.trouble.startswith("section a was left: 3 programs in a row failed, the last: CUDA driver")
    assert "mend the cause" in done.trouble
    assert len(machine.measured) == 3
    assert not read_entries(tmp_path / "home" / "0123abcd")
    mended = FakeMachine(flags=("-cudart", "shared"))  # other flags go on in the same folder
    again = piece(mended, tmp_path / "home", tmp_path / "machine", 1000.0)
    assert again is not None
    assert not again.trouble
    assert not any(one.count or one.check for one in again.left)
    assert home.state_of(tmp_path / "home", BOARD).sensor, "the failed sensor check was repeated"


def test_the_command_tells_what_ended_a_piece_and_takes_how_many_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    machine = BrokenMachine(from_number=3 + 3)

    def this_lab(*_: object) -> contextlib.AbstractContextManager[Lab]:
        return contextlib.nullcontext(machine.lab())

    def leave_signals(*_: object) -> None:
        """The test's own stay."""

    monkeypatch.setattr(piece_module, "this_lab", this_lab)
    monkeypatch.setattr(signal, "signal", leave_signals)
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    words = [
        "--folder",
        str(tmp_path / "there"),
        "piece",
        "--each",
        "10",
        "--failures",
        "5",
        "--budget",
        "60",
    ]
    assert main(words) == 1
    told = capsys.readouterr()
    assert "campaign: section b was left: 5 programs in a row failed" in told.err
    assert "piece 1 is in" in told.out
    assert "the next piece: " in told.out


def test_a_board_that_falls_silent_leaves_sections_and_keeps_their_rows_to_be_measured(tmp_path: Path):
    machine = BrokenMachine(from_number=16, refuses=False)
    done = piece(machine, tmp_path / "home", tmp_path / "machine", each=10)
    assert done is not None
    assert {words[:9] for words in done.trouble.split("; ") if words.startswith("section")} == {
        f"section {letter}" for letter in "cdefgh"
    }
    assert not home.state_of(tmp_path / "home", BOARD).counted
    assert not home.state_of(tmp_path / "home", BOARD).tried_again
    ran = {entry.name for entry in read_entries(tmp_path / "home" / "0123abcd")}
    left = make_plan(132, "0123abcd", tmp_path / "plan", 10)
    assert sum(one.name in ran for one in left.configurations) == 16 - 3
    taken = piece(BrokenMachine(), tmp_path / "home", tmp_path / "machine", each=10, most_failures=1000)
    assert taken is not None
    assert not taken.trouble
    assert not any(one.count for one in taken.left)


def test_a_failed_sensor_check_is_repeated_but_holds_nothing_up(tmp_path: Path):
    class Unsteady(FakeMachine):
        def check(self, folder: Path) -> None:
            raise SensorError("GPU is lost")

    for machine, known in ((Unsteady(), False), (FakeMachine(), True)):
        done = piece(machine, tmp_path / "home", tmp_path / "machine", 60.0)
        assert done is not None
        assert not done.trouble
        assert not any(one.check for one in done.left)
        assert home.state_of(tmp_path / "home", BOARD).sensor is known
    assert len(machine.measured) > 3


def test_a_bad_row_of_any_kind_is_a_row_with_its_reason(tmp_path: Path):
    defects = (SensorError("lost"), MeasureError("on GPU 2"), ValueError("not a number"), OSError(5, "oh"))

    class Defective(FakeMachine):
        def measure(self, configuration: Configuration) -> Measured:
            if len(self.measured) in (5, 7, 9, 11):
                defect = defects[(len(self.measured) - 5) // 2]
                self.measured.append(configuration.name)
                raise defect
            return super().measure(configuration)

        def count(self, configuration: Configuration) -> dict[str, float]:
            if configuration.name == plan.counted[0].name:
                raise UnicodeError("no text")
            return super().count(configuration)

    plan = make_plan(132, "0123abcd", tmp_path / "plan", EACH)
    machine = Defective(refuses=False)
    done = piece(machine, tmp_path / "home", tmp_path / "machine", 1000.0)
    assert done is not None
    assert not done.trouble
    assert not any(one.count for one in done.left)
    for told in ("SensorError: lost", "on GPU 2", "ValueError: not a number", "[Errno 5] oh"):
        assert any(one.endswith(f": {told}") for one in machine.said), told
    counters = tuple(home.read_lines(tmp_path / "home" / "0123abcd" / "counters.jsonl"))
    assert [values.get("reason", "") for values in counters] == ["UnicodeError: no text", "", ""]


def test_a_piece_asked_to_end_keeps_the_log_of_its_section(tmp_path: Path):
    class Asked(FakeMachine):
        def measure(self, configuration: Configuration) -> Measured:
            if len(self.measured) == 8:
                raise SystemExit(143)
            return super().measure(configuration)

    machine = Asked()
    with pytest.raises(SystemExit):
        run_piece(
            machine.lab(), tmp_path / "there", tmp_path / "out", 500.0, 10, lambda: machine.now_s, quiet
        )
    merge(tmp_path / "home", (tmp_path / "out").glob("*.tar.gz"))
    logged = [(row["section"], row["measured"]) for row in log_rows(tmp_path / "home")]
    assert logged == [("a", 1), ("a", 3), ("a", 3), ("b", 2)]


def test_what_a_board_refuses_and_its_sensor_are_its_own(tmp_path: Path):
    first, second = FakeMachine(), FakeMachine(board=replace(BOARD, uuid="GPU-4567cdef-2"), refuses=False)
    for machine in (first, second):
        piece(machine, tmp_path / "home", tmp_path / "machine", 1000.0)
    assert home.state_of(tmp_path / "home", first.board).refused
    assert not home.state_of(tmp_path / "home", second.board).refused
    assert len(home.state_of(tmp_path / "home", BOARD).counted) == EACH
    assert (tmp_path / "home" / "4567cdef" / RESULT).exists()


def test_counters_are_kept_or_their_refusal_is(tmp_path: Path):
    machine = FakeMachine(refuses=False)
    piece(machine, tmp_path / "home", tmp_path / "machine")
    assert len(home.state_of(tmp_path / "home", BOARD).counted) == EACH
    piece(FakeMachine(), tmp_path / "other", tmp_path / "machine")
    assert home.state_of(tmp_path / "other", BOARD).refused == "ncu: ERR_NVGPUCTRPERM"


def test_the_log_tells_what_was_predicted_and_what_was_charged(undisturbed: Path):
    rows = [row for row in log_rows(undisturbed) if row["section"] == "b"]
    assert [(row["measured"], row["charged_s"]) for row in rows] == [(EACH, EACH * 4.0)]
    assert rows[0]["predicted_s"] == pytest.approx(EACH * home.timing_s(), abs=0.1)


def test_the_page_has_the_predicted_minutes_beside_the_charged(undisturbed: Path):
    page = log_page(undisturbed, 2.0, (EACH, BUDGET_S))
    (row,) = (row for row in log_rows(undisturbed) if row["section"] == "b")
    predicted, charged = (f"{EACH * each_s / 60:.1f}" for each_s in (home.timing_s(), 4.0))
    assert f"| 1 | b | {EACH} | {row['valid']} | {predicted} | {charged} |" in page
    assert "- nothing is left: the campaign is done" in page


def test_the_whole_plan_fits_the_pieces_that_are_predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written, write = count(), Journal.write_tables

    def sometimes(*told: Any) -> Path | None:
        return None if next(written) % 25 else write(*told)

    with monkeypatch.context() as patch:
        patch.setattr(home.BoardFolder, "plan", _whole)
        # All rows anew after each of them: what that writes is tested with fewer rows.
        patch.setattr(Journal, "write_tables", sometimes)
        everything = left_for(tmp_path / "none", any_board(tmp_path / "none", 132))
        predicted = pieces_of(everything)
        begun = [share for share_of in predicted[:3] for share in share_of]
        for one in everything[:5]:  # what the runbook promises of thirty minutes: a to e as a whole
            assert sum(share.count for share in begun if share.section is one.section) == one.total
        corpus = dict(make_plan(132, "k", tmp_path / "plan").powers)[Section.CORPUS]
        twenty = sum(share.count for one in predicted[:2] for share in one if share.section is Section.CORPUS)
        variants = {program.name for program in load_manifest() if program.variants}
        assert not [one.name for one in corpus[twenty:] if one.benchmark in variants]
        assert [one.name for one in corpus if one.benchmark in variants]
        made = 0
        for _ in range(len(predicted) + 1):
            machine = FakeMachine(each_s=home.timing_s(), refuses=False)
            done = piece(machine, tmp_path / "home", tmp_path / "machine", each=None)
            assert done is not None
            assert not done.trouble
            assert machine.now_s <= BUDGET_S
            made += 1
            packet = done.packet
            assert packet is not None
            assert packet.stat().st_size < 16 << 20
            if not any(one.count for one in done.left if one.section is not Section.AGAIN):
                break
        assert made <= len(predicted)


def _whole(found: home.BoardFolder, each: int | None = None) -> home.Plan:
    return make_plan(found.chip.sm_count, found.folder.name, found.folder)


def reading(time_s: float, power_w: float, energy_j: float) -> Reading:
    return Reading(time_s, power_w, None, None, energy_j, 1980.0, 3201.0, 40.0, Throttle.NONE)


def test_the_sensor_is_judged_by_a_square_wave():
    """70 W idle, 300 W busy; readings move every 0.1 s, 0.15 s late; the counter has 2 % too much."""

    def power(time_s: float) -> float:
        return 300.0 if 3.0 <= time_s < 4.5 or 6.0 <= time_s < 7.5 else 70.0

    readings: list[Reading] = []
    energy_j = 0.0
    for step in range(1200):
        time_s = step * 0.01
        energy_j += 1.02 * power(time_s - 0.15) * 0.01
        shown = round(time_s // 0.1) * 0.1
        readings.append(reading(time_s, power(shown - 0.15) + 0.01 * (step // 10 % 7), energy_j))
    wave = Wave(1.5, (3.0, 6.0), (4.5, 7.5))
    found = judge_sensor(Trace(tuple(readings), 1.0, Window(3.0, 7.5, 2, 4.5)), wave)
    assert found.without_context.power_w == pytest.approx(70.0, abs=0.1)
    assert found.busy_w == pytest.approx(300.0, abs=0.1)
    assert found.instant_period_s == pytest.approx(0.1, abs=0.011)
    assert found.delay_s == pytest.approx(0.2, abs=0.06)
    assert found.counter_over_integral == pytest.approx(1.02, abs=0.03)
    assert found.average_delay_s is None


def test_every_program_of_the_plan_has_a_name_of_its_own_and_a_source(tmp_path: Path):
    plan = make_plan(132, "k", tmp_path)
    names = [one.name for one in plan.configurations]
    assert len(set(names)) == len(names)
    assert all(one.source.is_file() for one in plan.configurations)
    assert [section.letter for section, _ in plan.powers] == list("abcdeh")
    assert len(plan.counted) == 40
    assert sum(one.dataset == "tuner-k" for one in plan.configurations) == 60
    zeros = {one.benchmark.removesuffix("_zeros") for one in plan.configurations if one.input == "zeros"}
    live = {one.benchmark for one in plan.configurations if one.input == "random"}
    assert len(zeros) > 10
    assert zeros <= live, "a slice of zeros needs the same one with live operands beside it"


def test_a_probe_says_what_one_of_its_units_costs(tmp_path: Path):
    machine = FakeMachine()
    plan = make_plan(132, "k", tmp_path)
    wanted: Callable[[str], Configuration] = lambda name: next(  # noqa: E731
        one for one in plan.configurations if one.benchmark == name
    )
    from wattslice_corpora.measuring.bench import measured_row
    from wattslice_corpora.measuring.power import power_of

    found = machine.measure(wanted("latency_l2"))
    row = replace(measured_row(wanted("latency_l2"), found, power_of(found.trace)), time_s=20_000 * 130e-9)
    (said,) = probe_rows(132, [row])
    assert said.time_s == pytest.approx(130e-9)
    assert said.cycles == pytest.approx(130e-9 * 1980e6)
    assert said.per_s is None
