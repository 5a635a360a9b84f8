"""What the CUDA driver says about a GPU that must be known before anything is built for it."""

from __future__ import annotations

import ctypes

from msgspec import Struct

from wattslice_corpora.measuring.errors import MeasureError

_SM_COUNT, _MAJOR, _MINOR = 16, 75, 76  # CUdevice_attribute


class Chip(Struct, frozen=True):
    """`architecture` as nvcc's ``-arch`` wants it, e.g. ``sm_90``."""

    sm_count: int
    architecture: str


def read_chip(pci_bus_id: str) -> Chip:
    """The chip on a bus. Raises `MeasureError` when CUDA cannot use it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise MeasureError(f"the CUDA driver is not installed ({error})") from None
    device = ctypes.c_int()
    _check(driver.cuInit(0), "no GPU that CUDA can use")
    found = driver.cuDeviceGetByPCIBusId(ctypes.byref(device), _cuda_bus(pci_bus_id).encode())
    _check(found, f"CUDA does not see GPU {pci_bus_id}; is it hidden by CUDA_VISIBLE_DEVICES?")

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _check(driver.cuDeviceGetAttribute(ctypes.byref(value), number, device), "the GPU does not answer")
        return value.value

    return Chip(attribute(_SM_COUNT), f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}")


def _cuda_bus(nvml: str) -> str:
    """NVML writes the domain with eight digits, CUDA with four."""
    domain, _, rest = nvml.partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _check(status: int, message: str) -> None:
    if status != 0:
        raise MeasureError(f"{message} (CUDA error {status})")
