"""What a user may say of how sources are read, whatever their language."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

DEFAULT_STANDARD, DEFAULT_C_STANDARD = "c++17", "gnu17"
FAST_MATH = ("--use_fast_math", "-use_fast_math")


class UnreadFile(Struct, frozen=True):
    """A build file that says nothing, and why not."""

    file: str
    line: int
    reason: str


class OtherBuild(Struct, frozen=True):
    """Another target, or line of a Makefile, that compiles a source, and its definitions."""

    where: str
    definitions: tuple[str, ...]


class ParseOptions(Struct, frozen=True):
    """How to read a file. Everything has a default that suits a file without a build system.

    `include_dirs` are searched first. `defines` are `NAME` or `NAME=VALUE`. `compile_commands`: the folder of
    compile_commands.json. `search_root` bounds the search for headers that no include folder has; None: the
    git checkout around the file, else its folder. `use_pch` False parses the prelude anew each time. `moved`:
    a source that a PTX file says to lie below the first folder lies below the second. `is_wary`: a file with
    templates or headers of its own is first parsed in a process of its own. `unread`: build files around it
    that were looked at in vain. `fast_math`: where it is said that the file is compiled with
    `--use_fast_math`, empty where it is not; None: as the build files around it say. `others`: how these
    compile it as well.
    """

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    standard: str = DEFAULT_STANDARD
    gpu_arch: str = "sm_80"
    compile_commands: Path | None = None
    search_root: Path | None = None
    use_pch: bool = True
    moved: tuple[Path, Path] | None = None
    is_wary: bool = False
    unread: tuple[UnreadFile, ...] = ()
    fast_math: str | None = None
    others: tuple[OtherBuild, ...] = ()
