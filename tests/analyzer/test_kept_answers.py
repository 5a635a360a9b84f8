"""What a whole command said is printed again while everything that it was made of is as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wattslice import cli
from wattslice.pipeline.cache import current
from wattslice_models.user_folder import user_models

SOURCE = """#include "size.h"
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}
int main() { float *x; cudaMalloc(&x, SIZE * 4); scale<<<SIZE / 256, 256>>>(x, SIZE); }
"""
ANALYZE = ["analyze", "--gpu", "v100", "src"]
HEAVY = ("click", "msgspec", "numpy", "rich", "clang", "wattslice.ir", "wattslice.pipeline.files")
"""Nothing of this is imported for an answer that holds."""
OF_THE_ANALYSIS = ("numpy", "clang", "wattslice.ir", "wattslice.analysis", "wattslice.counting")
"""Nothing of this is imported to tell of GPUs, rules and the cache."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, with a cache and a home of its own."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/k.cu").write_text(SOURCE)
    (tmp_path / "src/size.h").write_text("#define SIZE 1048576\n#define FACTOR 2.0f\n")
    monkeypatch.setenv("WATTSLICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words of every command that really ran."""
    found: list[list[str]] = []
    run = cli._dispatch

    def dispatch(words: list[str], debug: bool) -> int:
        found.append(words)
        return run(words, debug)

    monkeypatch.setattr(cli, "_dispatch", dispatch)
    return found


@pytest.mark.parametrize("words", [ANALYZE, [*ANALYZE, "--format", "json"], ["gpus"], ["explain", "PW010"]])
def test_the_same_words_say_the_same_without_a_run(folder, ran, capfd, words):
    told: list[tuple[int, str, str]] = []
    for _ in range(2):
        status = cli.main(words)
        told.append((status, *capfd.readouterr()))
    assert told[0] == told[1]
    assert told[0][1]
    assert ran == [words]


def test_messages_are_told_again(folder, ran, capfd):
    (folder / "wattslice.toml").write_text('set = ["scale.zzz=3"]\n')
    cli.main(ANALYZE)
    first = capfd.readouterr()
    assert "warning" in first.err
    cli.main(ANALYZE)
    assert capfd.readouterr() == first
    assert len(ran) == 1


def edited(name: str, old: str, new: str) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        path = folder / name
        path.write_text(path.read_text().replace(old, new))

    return edit


def put(name: str, text: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return write


CHANGES: dict[str, Callable[[Path], object]] = {
    "the source": edited("src/k.cu", "*=", "+="),
    "a header": edited("src/size.h", "1048576", "2097152"),
    "a new file": put("src/more/k2.cu", SOURCE.replace("size.h", "../size.h")),
    "a removed file": lambda folder: (folder / "src/size.h").unlink(),
    "new settings": put("wattslice.toml", 'gpu = "a100"\n'),
    "settings nearer": put("src/wattslice.toml", "delta = 0.2\n"),
    "the user's settings": put("settings/wattslice/wattslice.toml", "delta = 0.2\n"),
    "the user's models": lambda _: put("v100/energy.json", "{}")(user_models()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_the_run_saw_makes_it_run_again(folder, ran, capfd, change):
    cli.main(ANALYZE)
    change(folder)
    cli.main(ANALYZE)
    assert len(ran) == 2


@pytest.mark.parametrize("name", ["COLUMNS", "LANG", "NO_COLOR"])
def test_the_environment_makes_it_run_again(folder, ran, capfd, monkeypatch, name):
    cli.main(ANALYZE)
    monkeypatch.setenv(name, "77")
    cli.main(ANALYZE)
    assert len(ran) == 2


@pytest.mark.parametrize(
    "more", [["-o", "told.txt"], ["--no-cache"], ["--cache", "other"], ["--cache=other"]]
)
def test_what_writes_or_has_its_own_cache_runs_each_time(folder, ran, capfd, more):
    for _ in range(2):
        assert cli.main([*ANALYZE, *more]) == 0
    assert len(ran) == 2


def test_settings_of_the_user_that_choose_a_cache_have_no_answers_beside_it(folder, ran, capfd):
    put("settings/wattslice/wattslice.toml", f'cache = "{folder}/mine"\n')(folder)
    for _ in range(2):
        assert cli.main(ANALYZE) == 0
    assert len(ran) == 2
    assert not list(folder.rglob("answer-*"))


def test_an_error_is_not_kept(folder, ran, capfd):
    for _ in range(2):
        assert cli.main(["analyze", "nothing.cu"]) == 2
    assert len(ran) == 2


def test_files_without_a_result_are_part_of_the_answer_with_its_status(folder, ran, capfd):
    put("src/broken.cu", "a\0b")(folder)
    told: list[str] = []
    for _ in range(2):
        assert cli.main(ANALYZE) == 2
        told.append(capfd.readouterr().err)
    assert "no result for src/broken.cu" in told[0]
    assert told[0] == told[1]
    assert len(ran) == 1
    put("src/broken.cu", SOURCE)(folder)
    assert cli.main(ANALYZE) == 0
    assert len(ran) == 2


def test_a_file_that_cannot_be_read_is_tried_again(folder, ran, capfd):
    (folder / "src/gone.cu").symlink_to("nowhere.cu")
    for _ in range(2):
        assert cli.main([*ANALYZE, "src/gone.cu"]) == 2
    assert len(ran) == 2


def test_a_folder_named_for_headers_that_goes_is_missed(folder, ran, capfd):
    (folder / "include").mkdir()
    assert cli.main([*ANALYZE, "-I", "include"]) == 0
    (folder / "include").rmdir()
    assert cli.main([*ANALYZE, "-I", "include"]) == 2


def relinked(name: str, target: str) -> Callable[[Path], object]:
    def link(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return link


@pytest.mark.parametrize(
    ("build", "change"),
    [
        ("k: k.cu\n\tnvcc -I new -I. -o k k.cu\n", put("src/new/size.h", "")),
        ("k: k.cu\n\tnvcc -I link -o k k.cu\n", relinked("src/link", "two")),
        ("include mk\nk: k.cu\n\tnvcc -o k k.cu\n", relinked("src/mk", "b.mk")),
    ],
    ids=["a folder that comes", "a folder behind a link", "a Makefile behind a link"],
)
def test_links_and_folders_of_a_makefile_make_it_run_again(folder, ran, capfd, build, change):
    for name, size in (("one", 4096), ("two", 8192)):
        put(f"src/{name}/size.h", f"#define SIZE {size}\n#define FACTOR 2\n")(folder)
        put(f"src/{name[0].replace('o', 'a').replace('t', 'b')}.mk", f"# {name}\n")(folder)
    relinked("src/link", "one")(folder)
    relinked("src/mk", "a.mk")(folder)
    put("src/Makefile", build)(folder)
    cli.main(["analyze", "--gpu", "v100", "src/k.cu"])
    change(folder)
    cli.main(["analyze", "--gpu", "v100", "src/k.cu"])
    assert len(ran) == 2


@pytest.mark.slow
def test_a_stdout_that_takes_nothing_is_told(folder, capfd):
    words = [sys.executable, "-m", "wattslice", *ANALYZE]
    assert subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode == 0
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(words, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert "stdout cannot be written: No space left on device" in run.stderr
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *words], check=False, stderr=subprocess.PIPE, text=True
    )
    assert "internal error" not in closed.stderr


def answers(folder: Path) -> list[Path]:
    return list((folder / "cache/results").glob("answer-*"))


@pytest.mark.parametrize("cut", [10, 60, -1])
def test_a_spoilt_answer_is_none(folder, ran, capfd, cut):
    cli.main(ANALYZE)
    first = capfd.readouterr()
    (answer,) = answers(folder)
    good = answer.read_bytes()
    answer.write_bytes(good[:cut])
    cli.main(ANALYZE)
    assert capfd.readouterr() == first
    assert len(ran) == 2
    assert answer.read_bytes() == good


def imported(folder: Path, *commands: list[str]) -> set[str]:
    """The modules of a process after commands, the last line that it prints."""
    code = "import sys; from wattslice.cli import main\n"
    code += f"for words in {commands}: main(words)\nprint('\\n', *sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
@pytest.mark.parametrize("words", [ANALYZE, ["gpus"]])
def test_an_answer_that_holds_imports_no_more_than_it_needs(folder, words):
    assert imported(folder, words) & set(HEAVY)
    assert imported(folder, words) & set(HEAVY) == set()


def test_what_needs_no_analysis_imports_none(folder):
    commands = ["gpus"], ["gpus", "--format", "json"], ["explain"], ["cache"]
    assert imported(folder, *commands) & set(OF_THE_ANALYSIS) == set()


def test_the_program_is_not_read_again_for_the_next_run(folder, ran, capfd, monkeypatch):
    from wattslice.pipeline.cache import keeper

    cli.main(ANALYZE)
    monkeypatch.setattr(keeper, "program_digest", lambda: pytest.fail("read again"))
    assert cli.main([*ANALYZE, "--format", "json"]) == 0


def test_the_installation_is_looked_at_once_in_a_process(folder, ran, capfd, monkeypatch):
    current.installation_stamp.cache_clear()
    looked, plain = list[Path](), current.stamp_of

    def looking(below: Path) -> str:
        looked.append(below)
        return plain(below)

    monkeypatch.setattr(current, "stamp_of", looking)
    cli.main(ANALYZE)
    cli.main([*ANALYZE, "--format", "json"])
    assert sorted(looked) == sorted(current.program_folders())
