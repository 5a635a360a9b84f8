"""The sensors of an NVIDIA board through NVML (package nvidia-ml-py, of the extra ``measure``).

Field ids and their meaning: NVML API reference, "Field Value Enums"; which of them average over what:
docs/measuring.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.measuring.sensor import Board, Reading, SensorError, Throttle

if TYPE_CHECKING:
    from types import ModuleType

_ENERGY, _AVERAGE, _INSTANT = 83, 185, 186
_WHOLE_BOARD, _MEMORY = 0, 2  # scopes of the power fields
_FIELDS = ((_INSTANT, _WHOLE_BOARD), (_AVERAGE, _WHOLE_BOARD), (_AVERAGE, _MEMORY), (_ENERGY, _WHOLE_BOARD))
_INSTALL = "pip install '.[measure]' in the checkout"


class NvmlSensor:
    """One NVIDIA board. `device`: its number for NVML, or its PCI bus id as CUDA writes it."""

    def __init__(self, device: int | str = 0) -> None:
        """Raises `MeasureError` without the package, the driver or the board."""
        self._nvml = _library()
        try:
            if isinstance(device, int):
                count = self._nvml.nvmlDeviceGetCount()
                if not 0 <= device < count:
                    raise MeasureError(f"no GPU number {device}: this machine has {count}")
                self._handle = self._nvml.nvmlDeviceGetHandleByIndex(device)
            else:
                self._handle = self._nvml.nvmlDeviceGetHandleByPciBusId(device.encode())
        except self._nvml.NVMLError as error:
            raise MeasureError(f"the driver does not give access to GPU {device}: {error}") from None

    def board(self) -> Board:
        """Which board this is. Raises `SensorError`."""
        nvml, handle = self._nvml, self._handle
        try:
            cuda = int(nvml.nvmlSystemGetCudaDriverVersion())
            return Board(
                name=_text(nvml.nvmlDeviceGetName(handle)),
                uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
                pci_bus_id=_text(nvml.nvmlDeviceGetPciInfo(handle).busId),
                driver=_text(nvml.nvmlSystemGetDriverVersion()),
                cuda=f"{cuda // 1000}.{cuda % 1000 // 10}",
                power_limit_w=self._ask("nvmlDeviceGetEnforcedPowerLimit", scale=1e-3),
            )
        except nvml.NVMLError as error:
            raise SensorError(str(error)) from None

    def read(self) -> Reading:
        """The sensors, now. Raises `SensorError` when the board is lost or nothing answers."""
        nvml = self._nvml
        time_s = time.monotonic()
        try:
            values = nvml.nvmlDeviceGetFieldValues(self._handle, list(_FIELDS))
            instant_w, average_w, memory_w, energy_j = (_milli(value) for value in values)
        except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission):
            instant_w = average_w = memory_w = energy_j = None
        except nvml.NVMLError as error:
            raise SensorError(str(error)) from None
        if average_w is None:  # drivers that do not know the fields
            average_w = self._ask("nvmlDeviceGetPowerUsage", scale=1e-3)
        if energy_j is None:
            energy_j = self._ask("nvmlDeviceGetTotalEnergyConsumption", scale=1e-3)
        if average_w is None and energy_j is None:
            raise SensorError("the board tells neither power nor energy")
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        return Reading(
            time_s=time_s,
            instant_w=instant_w,
            average_w=average_w,
            memory_w=memory_w,
            energy_j=energy_j,
            core_mhz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            memory_mhz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            temperature_c=self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            throttle=None if reasons is None else Throttle(int(reasons) & _KNOWN_REASONS),
        )

    def close(self) -> None:
        """Let the driver go."""
        self._nvml.nvmlShutdown()

    def _ask(self, function: str, *arguments: int, scale: float = 1.0) -> float | None:
        """A number of this board; None when it has no such sensor, or does not let us ask.

        A container may forbid one query and allow another: none of these is worth losing the watts.
        """
        nvml = self._nvml
        try:
            return float(getattr(nvml, function)(self._handle, *arguments)) * scale
        except nvml.NVMLError:
            return None


_KNOWN_REASONS = sum(reason.value for reason in Throttle)


def _library() -> ModuleType:
    try:
        import pynvml
    except ImportError:
        raise MeasureError(f"reading power needs the package nvidia-ml-py: {_INSTALL}") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise MeasureError(
            f"no NVIDIA driver answers ({error}): power can only be measured on a machine with an NVIDIA GPU"
        ) from None
    return pynvml


class _FieldValue(Protocol):
    """The part of ``nvmlFieldValue_t`` used here, as nvidia-ml-py shows it."""

    nvmlReturn: int  # noqa: N815
    valueType: int  # noqa: N815
    value: _Number


class _Number(Protocol):
    """``nvmlValue_t``, a union."""

    uiVal: int  # noqa: N815
    ulVal: int  # noqa: N815
    ullVal: int  # noqa: N815


def _milli(value: _FieldValue) -> float | None:
    """A field in mW or mJ, in W or J; None where the board lacks it."""
    if value.nvmlReturn != 0:
        return None
    unsigned_int, unsigned_long = 1, 2
    if value.valueType == unsigned_int:
        return value.value.uiVal * 1e-3
    if value.valueType == unsigned_long:
        return value.value.ulVal * 1e-3
    return value.value.ullVal * 1e-3


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
