"""What to tell clang: the fixed flags of a device-side parse without any toolkit, and the user's choices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STUBS = Path(__file__).with_name("stubs")
FALLBACK_STUBS = STUBS / "fallback"
PRELUDE = STUBS / "prelude.cuh"

# CXTranslationUnit_Flags
INCOMPLETE, FOR_SERIALIZATION, KEEP_GOING = 0x02, 0x10, 0x200

# Nesting beyond this is refused by clang itself with an error, long before its stack ends.
BRACKET_DEPTH = 256
TEMPLATE_DEPTH = 900


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How to read a file. Everything has a default that suits a file without a build system.

    `include_dirs` are searched first. `defines` are `NAME` or `NAME=VALUE`. `compile_commands` is the folder
    that holds compile_commands.json. `search_root` bounds the search for headers that no include folder has;
    None means the git checkout around the file, else the file's own folder. `use_pch` False parses the
    prelude anew each time (for measurements and for machines without a cache folder). `moved`: a source that
    a PTX file says to lie below the first folder lies below the second.
    """

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    standard: str = "c++17"
    gpu_arch: str = "sm_80"
    compile_commands: Path | None = None
    search_root: Path | None = None
    use_pch: bool = True
    moved: tuple[Path, Path] | None = None


def language_flags(standard: str, gpu_arch: str) -> tuple[str, ...]:
    """The flags that the prelude's PCH and every file that uses it must share."""
    return (
        "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={gpu_arch}", "-nocudainc", "-nocudalib",
        "--cuda-path=/nonexistent", "--target=x86_64-unknown-linux-gnu", f"-std={standard}",
        "-nostdinc", "-nostdinc++", "-ferror-limit=0", "-Wno-everything",
        f"-fbracket-depth={BRACKET_DEPTH}", f"-ftemplate-depth={TEMPLATE_DEPTH}",
        "-ftemplate-backtrace-limit=1",
        "-fconstexpr-steps=1000000",
        "-Xclang", "-fcuda-allow-variadic-functions", f"-isystem{STUBS}",
    )  # fmt: skip


def user_flags(options: ParseOptions, extra_dirs: tuple[Path, ...]) -> tuple[str, ...]:
    """The user's folders and macros; `extra_dirs` (found by search) come after the user's own."""
    return (
        *(f"-I{folder}" for folder in (*options.include_dirs, *extra_dirs)),
        *(f"-D{define}" for define in options.defines),
        *(f"-U{name}" for name in options.undefines),
    )
