import pytest

from wattslice_models.access_power import access_power_factors, measured_access_energies
from wattslice_models.gpu import Gpu, gpus, load_gpu


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_every_gpu_has_factors_with_provenance(gpu: Gpu) -> None:
    factors = access_power_factors(gpu)
    assert factors.global_memory == 1
    # On-chip accesses are cheaper than DRAM, and a shared one is the cheapest of them.
    assert 0 < factors.shared_memory < factors.constant_memory <= factors.texture_memory < 1
    assert factors.gpu_matched == ("carried over" not in factors.provenance)


def test_k40_factors_by_hand() -> None:
    k40 = next(entry for entry in measured_access_energies() if entry.gpu_id == "k40")
    assert k40.shared_j / k40.global_j == pytest.approx(5.32 / (5.85 + 15.48 + 30.55))
    assert k40.shared_j == pytest.approx(32 * 5.32e-12)


def test_energies_reproduce_the_measured_launches() -> None:
    # The longest V100 launch of the sweep: 2^20 threads, 7 global and 12 + 20 * 64 shared accesses each.
    v100 = next(entry for entry in measured_access_energies() if entry.gpu_id == "v100_pcie")
    energy_j = 2**20 * (7 * v100.global_j + (12 + 20 * 64) * v100.shared_j)
    assert energy_j == pytest.approx(0.000578332 * 127.3498, rel=0.01)


@pytest.mark.parametrize(
    ("gpu_id", "reason"),
    [
        ("v100_pcie", "measured on Tesla V100 PCIe"),
        ("k40", "measured on Tesla K40m"),
        ("v100", "carried over from v100_pcie, the same chip GV100"),
        ("titan_v", "the same chip GV100"),
        ("rtx_2060_super", "the same architecture"),
        ("h200", "carried over from v100_pcie, the nearest kind of memory to HBM3e"),
        ("rtx_4090", "carried over from quadro_rtx_8000"),
        ("gtx280", "carried over from k40"),
    ],
)
def test_fallbacks_are_said(gpu_id: str, reason: str) -> None:
    assert reason in access_power_factors(load_gpu(gpu_id)).provenance
