"""The files of a git revision, in a temporary folder: read by git's plumbing, nothing of the repository runs.

The work tree is never touched. Objects are read raw (`cat-file --batch`): no checkout, so no filters (LFS,
clean/smudge), no textconv, no hooks, no attributes; settings of the repository that could start a program
(fsmonitor, pagers, external diffs, hooks) are overridden, lazy fetching of a partial clone is off. The
repository's place is found from the files, whatever GIT_DIR a calling hook has set.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.launches.data_files import MOST_BYTES
from wattslice.patterns import regex

_SAFE = (
    "--no-pager", "--no-replace-objects", "--literal-pathspecs", "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null", "-c", "core.pager=cat",
    "-c", "diff.external=", "-c", "core.untrackedCache=false", "-c", "protocol.allow=never",
)  # fmt: skip
_SECONDS = 120
_MOST_BYTES = 32 << 20
SOURCES = frozenset(
    (
        ".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".C", ".inl", ".inc",
        ".ipp", ".tcc", ".tpp", ".def", ".cl", ".toml", ".json",
    )
)  # fmt: skip
_NEVER_READ = frozenset(
    (
        ".png", ".jpg", ".jpeg", ".gif", ".pdf", ".svg", ".zip", ".gz", ".bz2", ".xz", ".tar",
        ".md", ".rst", ".html", ".ipynb", ".ico", ".mp4", ".sln", ".vcxproj", ".o", ".a", ".so", ".doc",
        ".docx", ".ps", ".eps",
    )
)  # fmt: skip
_COMMIT = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LFS = b"version https://git-lfs.github.com/spec/"


class GitError(WattsliceError):
    """No repository, no such revision, or git cannot say; the message has git's words."""


class Entry(Struct, frozen=True):
    """One path of a tree; `mode` as git has it, `size` -1 for a submodule and for what this clone lacks."""

    path: str
    mode: str
    sha: str
    size: int

    @property
    def is_file(self) -> bool:
        """A regular file, neither a symbolic link nor a submodule."""
        return self.mode.startswith("100")

    @property
    def is_submodule(self) -> bool:
        """A commit of another repository."""
        return self.mode == "160000"


class Revision(Struct, frozen=True):
    """A commit of the repository at `root` (its top folder); `name` as the user wrote it."""

    root: Path
    name: str
    commit: str
    entries: tuple[Entry, ...]
    object_format: str


def repository_of(paths: Sequence[Path]) -> Path:
    """The top folder of the one repository that holds all paths. Raises `GitError`."""
    roots: dict[Path, Path] = {}
    for path in paths:
        folder = path.resolve() if path.is_dir() else path.resolve().parent
        top = _git(folder, "rev-parse", "--show-toplevel", remedy="run it inside a git repository")
        roots[Path(os.fsdecode(top).removesuffix("\n")).resolve()] = path
    if len(roots) != 1:
        raise GitError(
            f"--against: the files lie in {len(roots)} repositories", remedy="one run for each of them"
        )
    return next(iter(roots))


def read_revision(root: Path, name: str) -> Revision:
    """What REV holds. Raises `GitError` when it is no commit."""
    try:
        found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitError:
        found = b""
    commit = found.decode().strip()
    if not _COMMIT.fullmatch(commit):  # ^HEAD is a revision to git, too
        remedy = "a branch, tag or commit; a shallow clone lacks older ones (git fetch --unshallow)"
        raise GitError(f"--against: no commit {name!r} in {root}", remedy=remedy)
    listing = _git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    object_format = "sha256" if len(commit) == 64 else "sha1"
    return Revision(root, name, commit, tuple(_entries(root, listing)), object_format)


def _entries(root: Path, listing: bytes) -> Iterator[Entry]:
    found: list[tuple[str, str, str]] = []
    for line in listing.split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, sha = head.decode().split()
            found.append((os.fsdecode(path), mode, sha))
    sizes = _sizes(root, {sha for _, mode, sha in found if mode != "160000"})
    for path, mode, sha in found:
        yield Entry(path, mode, sha, sizes.get(sha, -1))


def _sizes(root: Path, shas: set[str]) -> dict[str, int]:
    """The sizes of the blobs that this clone has, in bytes."""
    request = "".join(f"{sha}\n" for sha in shas).encode()
    check = ("cat-file", "--batch-check=%(objectname) %(objectsize)")
    try:
        answer = _git(root, *check, stdin=request)
    except GitError:  # a partial clone gives up at the first that is missing: ask for all that are there
        answer = _git(root, *check, "--batch-all-objects", "--unordered")
    words = (line.split() for line in answer.decode().splitlines())
    return {sha: int(size) for sha, size in words if size.isdecimal()}


def not_checked_out(root: Path) -> frozenset[str]:
    """Files of the index that a sparse checkout leaves out of the work tree."""
    listing = _git(root, "ls-files", "-t", "-z", "--full-name")
    return frozenset(os.fsdecode(line[2:]) for line in listing.split(b"\0") if line.startswith(b"S "))


_REMEDY = (
    "git fsck tells what is wrong; a partial clone has all objects after git fetch --refetch --no-filter"
)


def _git(folder: Path, *arguments: str, stdin: bytes | None = None, remedy: str = _REMEDY) -> bytes:
    command = ["git", *_SAFE, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, check=False, timeout=_SECONDS, env=_environment()
        )
    except FileNotFoundError:
        raise GitError("--against needs git, and there is none", remedy="install git") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} took longer than {_SECONDS} s") from None
    if done.returncode:
        words = " ".join(done.stderr.decode("utf-8", "replace").split()) or f"git {arguments[0]} failed"
        raise GitError(f"--against: {words}", path=folder, remedy=remedy)
    return done.stdout


def _environment() -> dict[str, str]:
    """Ours without what redirects git or makes it start something; nothing is asked, nothing is fetched."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in ("GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL")
    }
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ATTR_NOSYSTEM": "1",
        "LC_ALL": "C",
    }


class Tree(Struct, frozen=True):
    """A revision's sources below `root`, as they were. `notes`: what could not be had as it was."""

    root: Path
    notes: tuple[str, ...]


@contextmanager
def extracted(revision: Revision, left_out: frozenset[str]) -> Generator[Tree]:
    """All that an analysis may read of a revision but for `left_out`, its links and submodules, in a folder
    that is gone afterwards.
    """
    around = Path(tempfile.mkdtemp(prefix="wattslice-")).resolve()
    folder = around / "revision"  # no neighbours: nothing else is in the folder above
    try:
        (folder / ".git").mkdir(parents=True)  # where searches end, as in the work tree
        _write_files(revision, left_out, folder)
        _link(revision, folder)
        yield Tree(folder, tuple(_link_submodules(revision, folder)))
    finally:
        shutil.rmtree(around, ignore_errors=True)


def wanted(entry: Entry) -> bool:
    """Whether an analysis may read it: sources (missing ones, too), and what tells builds, runs, data."""
    suffix = PurePosixPath(entry.path).suffix
    if not entry.is_file or _is_unsafe(entry.path):
        return False
    if suffix in SOURCES:
        return entry.size <= _MOST_BYTES
    return 0 <= entry.size <= MOST_BYTES and suffix.lower() not in _NEVER_READ


def _is_unsafe(path: str) -> bool:
    """A path that would leave the folder; git refuses to make such trees, a hostile one may hold them."""
    parts = PurePosixPath(path).parts
    return path.startswith("/") or ".." in parts or ".git" in (part.lower() for part in parts)


def _write_files(revision: Revision, left_out: frozenset[str], folder: Path) -> None:
    chosen = [entry for entry in revision.entries if entry.path not in left_out and wanted(entry)]
    texts = dict(blobs(revision, chosen))
    for entry in chosen:
        data = texts.get(entry)
        if data is None and not is_changed(revision, entry):
            data = (revision.root / entry.path).read_bytes()  # the clone lacks it, the work tree has it
        if data is not None and not is_pointer(data):
            target = folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def is_pointer(data: bytes) -> bool:
    """Whether this is what Git LFS keeps in place of a file."""
    return data.startswith(_LFS)


def blobs(revision: Revision, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The raw contents of some files; one that is missing (a partial clone) is left out."""
    chosen = [entry for entry in entries if entry.size >= 0]
    request = "".join(f"{entry.sha}\n" for entry in chosen).encode()
    answer = _git(revision.root, "cat-file", "--batch", stdin=request)
    start = 0
    for entry in chosen:
        end = answer.index(b"\n", start)
        head = answer[start:end].split()
        start = end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[2])
        yield entry, answer[start : start + size]
        start += size + 1


def _link(revision: Revision, folder: Path) -> None:
    """Symbolic links that stay inside, whatever other links they lead through."""
    links = [entry for entry in revision.entries if entry.mode == "120000" and not _is_unsafe(entry.path)]
    placed: list[Path] = []
    for entry, data in blobs(revision, links) if links else ():
        link = folder / entry.path
        if _is_free(link) and data:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.fsdecode(data))
            placed.append(link)
    for link in placed:
        if not Path(os.path.realpath(link)).is_relative_to(folder):
            link.unlink()


def _link_submodules(revision: Revision, folder: Path) -> Iterator[str]:
    """Submodules, as they are in the work tree now: their headers are wanted."""
    absent: list[str] = []
    present: list[str] = []
    for entry in revision.entries:
        target, now = folder / entry.path, revision.root / entry.path
        if not entry.is_submodule or _is_unsafe(entry.path) or not _is_free(target):
            continue
        if now.is_dir() and any(now.iterdir()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(now, target_is_directory=True)
            present.append(entry.path)
        else:
            absent.append(entry.path)
    if present:
        yield f"not compared, but taken as they are now on both sides: submodules {', '.join(present)}"
    if absent:
        yield f"not checked out, so headers are missing on both sides: submodules {', '.join(absent)}"


def _is_free(place: Path) -> bool:
    """Whether nothing is there, and no link on the way: a tree may hold a link and files below it."""
    return os.path.realpath(place.parent) == str(place.parent) and not os.path.lexists(place)


def is_changed(revision: Revision, entry: Entry) -> bool:
    """Whether the file of the work tree differs from the revision's; line ends that git converted do not."""
    path = revision.root / entry.path
    try:
        data = path.read_bytes()
    except OSError:
        return True
    if _blob_hash(data, revision.object_format) == entry.sha:
        return False
    return (
        b"\r\n" not in data or _blob_hash(data.replace(b"\r\n", b"\n"), revision.object_format) != entry.sha
    )


def _blob_hash(data: bytes, object_format: str) -> str:
    return hashlib.new(object_format, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
