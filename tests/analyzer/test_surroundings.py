"""Looking around a source file: as the disk is, and once for all questions of one moment."""

import os
import re
from pathlib import Path

import pytest

from wattslice.frontend import surroundings
from wattslice.frontend.inputs import reading_open_texts
from wattslice.frontend.neighbours import caller_files, definition_files
from wattslice.frontend.surroundings import Surroundings, Text, places_of


@pytest.mark.parametrize("name", ["plain.cu", "link.cu", "folder/inner.cu", "loop", ".", "..", "gone/x.cu"])
def test_a_path_leads_where_the_system_says(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "plain.cu").write_text("")
    (tmp_path / "real" / "inner.cu").symlink_to(tmp_path / "plain.cu")
    (tmp_path / "link.cu").symlink_to("plain.cu")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    around = Surroundings()
    assert around.resolved(str(tmp_path / name)) == os.path.realpath(tmp_path / name)
    assert around.resolved(name) == os.path.realpath(name)


def test_folders_and_texts_are_read_once_for_all_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (tmp_path / ".git").mkdir()
    for number in range(4):
        (folder / f"k{number}.cu").write_text(f"void run{number}(int n) {{ k{number}<<<n, 32>>>(); }}\n")
    (folder / "main.cpp").write_text("int main() { run0(1); run1(2); run2(3); run3(4); }\n")
    listed: list[str] = []
    plain = os.scandir

    def listing(place: str) -> object:
        listed.append(place)
        return plain(place)

    monkeypatch.setattr(os, "scandir", listing)
    around = Surroundings()
    for number in range(4):
        own, names = folder / f"k{number}.cu", frozenset({f"run{number}"})
        assert caller_files(own, names, around) == (folder / "main.cpp",)
        assert definition_files(folder / "main.cpp", names, around) == (own,)
    assert str(folder) in listed
    assert sorted(listed) == sorted(set(listed))
    (folder / "main.cpp").write_text("int main() {}\n")
    assert caller_files(folder / "k0.cu", frozenset({"run0"})) == ()  # a new look sees what is new


def test_a_folder_is_listed_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "b.cu").write_text("")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "link").symlink_to("inner")
    os.utime(tmp_path, (1e9, 1e9))
    own = str(tmp_path)
    here = Surroundings().listed(own)
    assert here.files == {".txt": (f"{own}/a.txt",), ".cu": (f"{own}/b.cu",), "": (f"{own}/link",)}
    assert here.links == {f"{own}/link"}
    assert [os.path.relpath(path, own) for path in here.folders] == ["inner", "link"]
    assert Surroundings().files_in(own, (".cu",)) == [f"{own}/b.cu"]
    assert (
        Surroundings().listed(f"{own}/b.cu") == Surroundings().listed(f"{own}/gone") == ({}, (), frozenset())
    )
    monkeypatch.setattr(os, "scandir", lambda place: pytest.fail("listed again"))  # pyright: ignore[reportUnknownLambdaType]
    assert Surroundings().listed(own) == here
    monkeypatch.undo()
    (tmp_path / "c.cu").write_text("")  # which changes the stamp of the folder
    assert Surroundings().files_in(own, (".cu",)) == [f"{own}/b.cu", f"{own}/c.cu"]


@pytest.mark.parametrize(("sources", "expected"), [(2, 3), (4, 0)])
def test_the_files_of_a_small_repository_are_those_of_its_own_folders(
    tmp_path: Path, sources: int, expected: int
) -> None:
    for folder in (".git", "b/inner", "a", ".hidden", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    for number in range(sources):
        (tmp_path / "b" / "inner" / f"k{number}.cu").write_text("")
    (tmp_path / "a" / "z.cu").write_text("")
    (tmp_path / ".hidden" / "no.cu").write_text("")
    (tmp_path / "loop").symlink_to(".")
    found = Surroundings().repository_files(str(tmp_path / "a"), frozenset({".cu"}), 4)
    assert len(found) == expected
    assert [Path(path).name for path in found] == ["z.cu", "k0.cu", "k1.cu"][:expected]


def test_a_text_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "main.cpp", list[str]()
    plain = surroundings.file_bytes

    def reading(file: Path, most_bytes: int) -> bytes:
        read.append(file.name)
        return plain(file, most_bytes)

    monkeypatch.setattr(surroundings, "file_bytes", reading)
    path.write_text("int main() {}\n")
    os.utime(path, (1e9, 1e9))
    assert [Surroundings().text(str(path)).has_main for _ in range(3)] == [True] * 3
    assert len(read) == 1
    path.write_text("int other() {}\n")
    assert [Surroundings().text(str(path)).has_main for _ in range(2)] == [False] * 2
    with reading_open_texts(((path, b"int main() {}\n"),)):
        assert Surroundings().text(str(path)).has_main
    assert not Surroundings().text(str(path)).has_main


def test_no_pattern_is_made_of_names_that_nobody_mentions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.cu"
    path.write_text("void other(int n) { k<<<n, 32>>>(); }\n")
    (tmp_path / "main.cpp").write_text("int main() { other(1); }\n")
    monkeypatch.setattr(re, "compile", lambda *_: pytest.fail("a pattern"))  # pyright: ignore[reportUnknownLambdaType]
    assert definition_files(path, frozenset(("nobodysName",))) == ()


def test_a_test_has_nothing_beside_its_folder(tmp_path):
    """Else kernels would be launched by what other tests leave there."""
    assert list(tmp_path.parent.iterdir()) == [tmp_path]


@pytest.mark.parametrize(
    ("text", "there", "has_main"),
    [
        (b"int main(int n) { return run(n); }", True, True),
        (b"run", True, False),
        (b"rerun(1); run_2(2); run3(3); int domain() { main2(); }", False, False),
        (b"prerun run; int main\n ()", True, True),
        (b"int main; void run2();", False, False),
        (b"", False, False),
    ],
)
def test_words_are_found_whole_by_search_and_in_the_collection(
    text: bytes, there: bool, has_main: bool
) -> None:
    asked = Text(text)
    for _ in range(3 * surroundings._MOST_SEARCHES):  # at first it is searched, then its words are known
        assert asked.has_any(frozenset({b"absent", b"run"})) is there
    assert not asked.has_any(frozenset())
    assert asked.has_main is has_main
    assert [text[at : at + 3] for at in places_of(b"run", text)] == [b"run"] * there
