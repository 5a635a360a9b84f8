"""Cache files of Kernel Tuner, read and written.

The format is that of its JSON schema ``cache/1.1.0``; files of versions before the schema, without
`schema_version` and perhaps without their last brackets, are read, too. Times are milliseconds.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice.sweep.run import Goal, Outcome, PredictedVariant, Sweep
from wattslice.sweep.space import Macro, Variant

SCHEMA_VERSION = "1.1.0"
_FIXED = (("kernel_tuner", "1"), ("block_size_x", "1"), ("block_size_y", "1"), ("block_size_z", "1"))
"""What Kernel Tuner defines beside the parameters, where they do not say otherwise."""
_FAILED = {
    Outcome.NOT_COMPILED: "CompilationFailedConfig",
    Outcome.NOT_LAUNCHED: "RuntimeFailedConfig",
    Outcome.UNKNOWN: "InvalidConfig",
}
_MOST_BYTES = 256 << 20
_COMPRESSED = ".json.gz"
_PREDICTED = "(predicted by wattslice)"


class _File(msgspec.Struct, frozen=True):
    kernel_name: str
    tune_params_keys: list[str]
    tune_params: dict[str, list[int | float | str | bool]]
    cache: dict[str, dict[str, Any]]
    device_name: str = ""
    problem_size: list[int] | int | str = ""


class TuningSpace(Struct, frozen=True):
    """What a cache file says: the parameters with all their values, and the variants that are in the cache.

    `measured_s[i]`: seconds of `variants[i]`, None where it failed or has no time; `measured_w[i]`: watts of
    the board, where an observer took them. `problem`: its extents.
    """

    kernel: str
    device: str
    macros: tuple[Macro, ...]
    variants: tuple[Variant, ...]
    measured_s: tuple[float | None, ...]
    problem: tuple[int, ...]
    measured_w: tuple[float | None, ...] = ()

    @property
    def is_predicted(self) -> bool:
        """Whether wattslice wrote the times: nobody measured them."""
        return self.device.endswith(_PREDICTED)

    def only(self, kept: Sequence[bool]) -> TuningSpace:
        """With these of the variants only. Raises `WattsliceError` where none is left."""
        if not any(kept):
            raise WattsliceError("--where leaves no variant", remedy="loosen it")
        variants = tuple(one for one, stays in zip(self.variants, kept, strict=True) if stays)
        measured = tuple(one for one, stays in zip(self.measured_s, kept, strict=True) if stays)
        return replace(self, variants=variants, measured_s=measured)

    def unmeasured(self, variants: tuple[Variant, ...]) -> TuningSpace:
        """With these variants, none of which has a time."""
        return replace(self, variants=variants, measured_s=(None,) * len(variants))


def extent_names(problem: tuple[int, ...]) -> dict[str, int]:
    """The extents of the problem, for expressions."""
    return {f"problem_size_{axis}": extent for axis, extent in zip("xyz", problem, strict=False)}


def fixed_definitions(space: TuningSpace) -> tuple[str, ...]:
    """The definitions that all variants share."""
    names = {macro.name for macro in space.macros}
    return tuple(f"{name}={value}" for name, value in _FIXED if name not in names)


def is_cache(path: Path) -> bool:
    """Whether a table of variants is a cache file, perhaps compressed, by its name."""
    return path.name.lower().endswith((".json", _COMPRESSED))


def read_cache(path: Path) -> TuningSpace:
    """Raises `WattsliceError` for what is no cache file of Kernel Tuner."""
    try:
        is_compressed = path.name.lower().endswith(_COMPRESSED)
        with gzip.open(path) if is_compressed else path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise WattsliceError(f"over {_MOST_BYTES >> 20} MiB", path=path, remedy="give a smaller cache")
        text = content.decode().strip()
    except (OSError, EOFError, zlib.error) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise WattsliceError(f"cannot be read: {told}", path=path) from None
    except UnicodeDecodeError:
        raise WattsliceError("is no text", path=path, remedy="give a cache file of Kernel Tuner") from None
    found = _decoded(text) or _decoded(text.rstrip(",") + "}}")
    if found is None or not set(found.tune_params_keys) <= set(found.tune_params):
        raise WattsliceError(
            "is no cache file of Kernel Tuner", path=path, remedy=f"schema cache/{SCHEMA_VERSION}"
        )
    names = found.tune_params_keys
    macros = tuple(Macro(name, tuple(_word(value) for value in found.tune_params[name])) for name in names)
    entries = [entry for entry in found.cache.values() if all(name in entry for name in names)]
    return TuningSpace(
        found.kernel_name,
        found.device_name,
        macros,
        tuple(tuple((name, _word(entry[name])) for name in names) for entry in entries),
        tuple(_seconds(entry.get("time")) for entry in entries),
        _extents(found.problem_size),
        tuple(_watts(entry) for entry in entries),
    )


def _decoded(text: str) -> _File | None:
    try:
        return msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, RecursionError):
        return None


def _word(value: object) -> str:
    """As Kernel Tuner writes a value after ``#define``."""
    return str(value)


def _seconds(time_ms: object) -> float | None:
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float):
        return None
    return 1e-3 * time_ms if math.isfinite(time_ms) and 0 < time_ms < 1e9 else None


def _watts(entry: dict[str, Any]) -> float | None:
    """Of NVML or a power sensor; else energy over time."""
    for name in ("nvml_power", "ps_power", "power"):
        value = entry.get(name)
        if not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < math.inf:
            return float(value)
    energy_j, time_s = entry.get("nvml_energy"), _seconds(entry.get("time"))
    if time_s is None or isinstance(energy_j, bool) or not isinstance(energy_j, int | float) or energy_j <= 0:
        return None
    return energy_j / time_s


def _extents(size: list[int] | int | str) -> tuple[int, ...]:
    if isinstance(size, str):
        return ()
    return (size,) if isinstance(size, int) else tuple(size)


def render_cache(sweep: Sweep, problem: tuple[int, ...], goal: Goal) -> str:
    """The predictions as a cache file: times in ms, `energy` in J and `power` in W.

    What was not compiled, launched or told stands there as Kernel Tuner notes such failures.
    """
    names = [name for name, _ in sweep.variants[0].macros]
    values: dict[str, dict[str, None]] = {name: {} for name in names}
    for variant in sweep.variants:
        for name, value in variant.macros:
            values[name][value] = None
    kernels = dict.fromkeys(launch.name for variant in sweep.variants for launch in variant.launches)
    document = {
        "schema_version": SCHEMA_VERSION,
        "device_name": f"{sweep.gpu_name} {_PREDICTED}",
        "kernel_name": "+".join(kernels),
        "problem_size": list(problem) or "unknown",
        "tune_params_keys": names,
        "tune_params": {name: [_number(value) for value in values[name]] for name in names},
        "objective": "time" if goal is Goal.TIME else "energy",
        "cache": {",".join(value for _, value in one.macros): _entry(one) for one in sweep.variants},
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _entry(variant: PredictedVariant) -> dict[str, object]:
    """Kernel Tuner asks for what a measurement takes; a prediction has none of it, so that it is 0."""
    entry: dict[str, object] = {name: _number(value) for name, value in variant.macros}
    if variant.time_s is None or variant.energy_j is None:
        entry["time"] = _FAILED[variant.outcome]
    else:
        time_ms = 1e3 * variant.time_s
        entry |= {"time": time_ms, "times": [time_ms], "energy": variant.energy_j, "power": variant.power_w}
    nothing = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
    return {**entry, **dict.fromkeys(nothing, 0), "timestamp": "1970-01-01T00:00:00+00:00"}


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) and str(value) == text else text
    return text
