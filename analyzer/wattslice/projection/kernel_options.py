"""The keys of a kernel of a workflow file in the place of options of ``wattslice analyze``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.launches.overrides import OverrideError
from wattslice.projection.workflow import KernelUse, WorkflowError

_KEYS = {"--set": "set", "--launch": "launch", "--profile": "profile", "-D": "define", "-I": "include"}
_OPTION = re.compile(rf"(?<!\S)({'|'.join(_KEYS)})(?=[\s:]|$)")
_LISTS = ("set", "launch")


def as_keys(fix: str) -> str:
    """The fix of an assumption: `set = ["k.n=VALUE", "k.m=VALUE"]` for `--set k.n=VALUE --set k.m=VALUE`."""
    words = shlex.split(fix)
    options, texts = words[::2], words[1::2]
    if not fix or len(options) != len(texts) or not set(options) <= _KEYS.keys():
        return fix
    values: dict[str, list[str]] = {}
    for option, text in zip(options, texts, strict=True):
        values.setdefault(_KEYS[option], []).append(f'"{text}"')
    return ", ".join(
        f"{key} = [{', '.join(given)}]" if key in _LISTS else f"{key} = {given[0]}"
        for key, given in values.items()
    )


def error_of(use: KernelUse, path: Path, error: WattsliceError) -> WorkflowError:
    """What is wrong with the options or the source of a kernel, with its place in the workflow file."""
    place = use.place
    if isinstance(error, OverrideError):
        given = [key for key, texts in (("set", use.overrides), ("launch", use.launch)) if texts]
        place += f".{' and '.join(given)}" if given else ""
    where = "" if error.path in (None, path) else f"{error.path}: "
    message, remedy = (_OPTION.sub(_key, text) for text in (error.message, error.remedy))
    return WorkflowError(f"{place}: {where}{message}", path=path, remedy=remedy)


def _key(option: re.Match[str]) -> str:
    return _KEYS[option[1]]
