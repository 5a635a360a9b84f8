"""Which GPU to predict for: `--gpu`, else the settings, else the GPU of this machine, else the default."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from wattslice.documents import line_of, parse_toml
from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.user_folders import DRIVER_FOLDER
from wattslice_models.gpu import GpuFileError, UnknownGpuError, gpu_ids, load_gpu

DEFAULT_GPU = "v100"


class GpuChoice(Struct, frozen=True):
    """The chosen GPU and where the choice comes from: "--gpu", "settings", "this machine" or "default".

    `passed_over` is the name of a GPU in this machine that the catalogue does not have, else empty.
    """

    gpu_id: str
    source: str = "default"
    passed_over: str = ""


def choose_gpu(
    option: str | None,
    setting: str | None,
    settings_path: Path | None = None,
    driver_folder: Path = DRIVER_FOLDER,
) -> GpuChoice:
    """Choose the GPU. Raises `WattsliceError` for an unknown one that was asked for by name."""
    if option is not None:
        return GpuChoice(known_gpu(option, None), "--gpu")
    if setting is not None:
        if setting.endswith(".toml") and settings_path is not None:
            setting = str(settings_path.parent / setting)
        return GpuChoice(known_gpu(setting, settings_path), "settings")
    passed_over = ""
    for name in gpus_of_this_machine(driver_folder):
        try:
            return GpuChoice(load_gpu(name).id, "this machine")
        except UnknownGpuError:
            passed_over = passed_over or name
    return GpuChoice(DEFAULT_GPU, "default", passed_over)


def gpus_of_this_machine(driver_folder: Path = DRIVER_FOLDER) -> tuple[str, ...]:
    """Names as the driver prints them (``Tesla V100-SXM2-16GB``), in its order; empty without any."""
    names: list[str] = []
    try:
        for file in sorted(driver_folder.glob("*/information")):
            content = file_bytes(file)
            note_text(file, content)
            for line in content.decode("utf-8", "replace").splitlines():
                key, _, value = line.partition(":")
                if key.strip() == "Model" and value.strip():
                    names.append(value.strip())
    except OSError:
        return ()
    return tuple(names)


def known_gpu(wanted: str, path: Path | None = None) -> str:
    """What `load_gpu` understands: the id of a GPU of the catalogue, or the name of a file of the user's own.

    Raises `WattsliceError` for an unknown GPU and for a file that is none; `path`: the settings that name it.
    """
    try:
        if wanted.endswith(".toml"):
            content = file_bytes(Path(wanted), 1 << 20)
            note_text(wanted, content)
            parse_toml(content)
        gpu = load_gpu(wanted)
    except UnknownGpuError as error:
        close = ", ".join(error.close_matches)
        remedy = f"did you mean {close}?" if close else "`wattslice gpus` lists all"
        raise WattsliceError(f"unknown GPU {wanted!r}", path=path, remedy=remedy) from None
    except GpuFileError as error:
        places = (re.sub(r"^\[(\w+)\] ", r"\1.", fault).partition(":")[0] for fault in error.faults)
        line = next((found for place in places if (found := line_of(error.path, place)) is not None), None)
        message, remedy = "; ".join(error.faults), "docs/training.md tells what it must hold"
        raise WattsliceError(message, path=error.path, line=line, remedy=remedy) from None
    except ValueError as error:
        message, remedy = f"not valid TOML: {error}", "docs/training.md tells what it must hold"
        raise WattsliceError(message, path=Path(wanted), remedy=remedy) from None
    except OSError as error:
        raise of_system(error, "cannot be read", Path(wanted), "give the TOML file of a GPU") from None
    if not wanted.endswith(".toml"):
        return gpu.id
    if gpu.id in gpu_ids():
        raise WattsliceError(
            f"the id {gpu.id!r} is taken by the catalogue", path=Path(wanted), remedy="choose another id"
        )
    return wanted
