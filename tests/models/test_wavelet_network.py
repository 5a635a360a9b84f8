import json
import math
import subprocess
import sys

import pytest
from msgspec.structs import replace

from wattslice_models.contract import Interval, SliceSample, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.frozen_json import decoded, dumps
from wattslice_models.gpu import load_gpu
from wattslice_models.wavelet_inputs import CatalogueGpus, ClockFactor, InputRange, NumberedGpus
from wattslice_models.wavelet_network import (
    WAVELONS,
    WaveletModel,
    Wavelon,
    morlet,
    network_output,
    scaled_sigmoid,
)

from .model_examples import GPU, subject

FACTORS = tuple(
    ClockFactor(GPU.id, core_mhz, scale, factor)
    for core_mhz, scale, factor in ((1380.0, 1.0, 1.0), (690.0, 1.0, 0.5), (1380.0, 0.8, 0.9))
)
RANGES = (
    InputRange("arithmetic density", True, 0.0, 99.0),
    InputRange("SM saturation", False, 0.5, 1.0),
    InputRange("code lines", True, 9.0, 19.0),
    InputRange("GPU number", False, 0.0, 0.0),
)
DENSITY_WAVELON = Wavelon((1.0, 0.0, 0.0, 0.0), 1.0, 2.0, 3.0)  # centred at the largest density


def model(*wavelons: Wavelon) -> WaveletModel:
    return WaveletModel(
        interval=Interval(0.9, 1.1, 0.9, "a test"),
        gpus=NumberedGpus((GPU.id,), FACTORS),
        inputs=RANGES,
        wavelons=wavelons,
        log_power_mean=math.log(100.0),
        log_power_half_range=0.5,
        share_without_density_max=0.25,
        landmarks=((-1.0, 1.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0)),
        distance_limit=1.5,
        training_steps=10,
        held_out_error=0.1,
    )


def run(*slices: SliceSample, clocks: Clocks | None = None) -> Subject:
    return replace(subject(1.0), slices=slices, clocks=clocks or Clocks(1380.0, 876.0))


def part(density: float | None, weight: float = 1.0) -> SliceSample:
    return SliceSample("global", density, 1.0, 12, weight)


def test_constants_are_as_printed():
    assert WAVELONS == 11
    for x in (-3.0, -0.4, 0.0, 1.0, 2.5):
        assert morlet(x) == pytest.approx(math.cos(1.67 * x) * math.exp(-(x**2) / 2), rel=1e-15)
        assert scaled_sigmoid(x) == pytest.approx(2 * 1.716 / (1 + math.exp(-0.667 * x)) - 1.716, abs=1e-15)
    assert scaled_sigmoid(1e6) == 1.716


def test_the_wavelet_is_the_real_morlet_of_pywavelets():
    # cmorB-C is exp(2 pi i C x) exp(-x²/B) / sqrt(pi B), B and C in single precision: B = 2, C = 1.67 / 2 pi.
    pywt = pytest.importorskip("pywt")
    wavelet, at = pywt.ContinuousWavelet(f"cmor2.0-{1.67 / (2 * math.pi):.17g}").wavefun(length=33)
    expected = wavelet.real * math.sqrt(2 * math.pi)
    assert [morlet(x) for x in at] == pytest.approx(list(expected), abs=1e-6)


def test_an_output_by_hand():
    # (0.5 · 1 - 0.2) / 0.5 = 0.6 and (0.25 · -1 + 0.35) / 2 = 0.05
    wavelons = (Wavelon((0.5, 0.0), 0.2, 0.5, 2.0), Wavelon((0.0, 0.25), -0.35, 2.0, -1.0))
    assert network_output(wavelons, (1.0, -1.0)) == pytest.approx(
        scaled_sigmoid(2.0 * morlet(0.6) - morlet(0.05))
    )


def test_inputs_are_scaled_and_held_at_the_edges():
    density, _, _, number = RANGES
    assert [density.scaled(value) for value in (0.0, 9.0, 99.0, 1e9)] == pytest.approx([-1.0, 0.0, 1.0, 1.0])
    assert number.scaled(0.0) == 0.0


def test_a_run_is_the_mixture_of_its_slices():
    network = model(DENSITY_WAVELON)
    alone = [network.predict(run(part(density))).power_w or 0.0 for density in (0.0, 99.0)]
    assert alone[1] > 1.2 * alone[0]
    mixed = network.predict(run(part(0.0, 0.25), part(99.0, 0.75))).power_w
    assert mixed == pytest.approx(0.25 * alone[0] + 0.75 * alone[1])


def test_a_slice_without_density_draws_what_the_others_draw():
    network = model(DENSITY_WAVELON)
    whole = network.predict(run(part(99.0)))
    some = network.predict(run(part(99.0, 0.8), part(None, 0.2)))
    assert some.power_w == pytest.approx(whole.power_w)
    assert some.in_trained_domain
    assert "20% of the statements" in some.notes[0]
    assert not network.predict(run(part(99.0, 0.7), part(None, 0.3))).in_trained_domain


@pytest.mark.parametrize("slices", [(), (part(None),), (part(1.0, 0.0),)])
def test_nothing_to_go_by_gives_no_power(slices: tuple[SliceSample, ...]):
    prediction = model(DENSITY_WAVELON).predict(run(*slices))
    assert prediction.power_w is None
    assert "no slice with an arithmetic density" in prediction.notes[0]


def test_watts_follow_the_factor_of_the_clock():
    network = model()
    for clocks, expected_w, inside in (
        (Clocks(1380.0, 876.0), 100.0, True),
        (Clocks(690.0, 876.0), 50.0, True),
        (Clocks(1035.0, 876.0), 75.0, True),  # halfway between measured clocks
        (Clocks(None, None), 100.0, True),
        (Clocks(1385.0, 877.0), 100.0, True),  # the same clocks, read by another tool
        (Clocks(300.0, 876.0), 50.0, False),
        (Clocks(1380.0, 0.8 * 876.0), 90.0, True),
        (Clocks(1380.0, 0.7 * 876.0), 90.0, False),
    ):
        prediction = network.predict(run(part(0.0), clocks=clocks))
        assert prediction.power_w == pytest.approx(expected_w)
        assert prediction.in_trained_domain is inside
        assert bool(prediction.notes) is not inside


def test_a_gpu_without_number_is_unknown():
    prediction = model().predict(replace(run(part(1.0)), gpu=load_gpu("t4")))
    assert prediction.power_w is None
    assert "t4 is none of v100_pcie" in prediction.notes[0]


def test_a_gpu_without_power_limit_is_unknown_to_the_catalogue():
    gpu = replace(GPU, power_limit_w=None)
    network = replace(model(), gpus=CatalogueGpus())
    assert network.predict(replace(run(part(1.0)), gpu=gpu)).power_w is None


def test_inputs_inside_their_ranges_may_still_be_far():
    # Density 9 is scaled to 0: 1 from both landmarks, and Sa 0.5 to -1: 2 from both.
    near = model().predict(run(part(9.0)))
    far = model().predict(run(replace(part(9.0), sm_saturation=0.5)))
    assert near.in_trained_domain
    assert not far.in_trained_domain
    assert "from the nearest trained one" in far.notes[0]


@pytest.mark.parametrize("gpus", [NumberedGpus((GPU.id,), FACTORS), CatalogueGpus()])
def test_a_network_reads_back_exactly(gpus: NumberedGpus | CatalogueGpus):
    network = replace(model(DENSITY_WAVELON), gpus=gpus, log_power_mean=1 / 3)
    assert decoded(WaveletModel, json.loads(dumps(network))) == network


def test_predicting_needs_the_standard_library_only():
    code = (
        "import sys, wattslice_models.wavelet_network\n"
        "print(sorted({'numpy', 'scipy', 'torch', 'pywt'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert found.stdout == "[]\n"
