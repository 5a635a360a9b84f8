import json
from dataclasses import replace

import pytest

from wattslice_models.energy import EnergyModel, NoEnergyModel
from wattslice_models.gpu import gpus, load_gpu
from wattslice_models.store import ModelFileError, Residual, energy_model, load, save, trained_gpu_ids
from wattslice_models.workload import Instructions, Workload

WORK = Workload(8000, 256, 64.0, Instructions(fp32=1000.0, load_store=3.0), None, 12.0, 12.0, 12.0)


def trained(gpu_id):
    found = energy_model(load_gpu(gpu_id))
    assert isinstance(found, EnergyModel)
    return found


def test_a_model_reads_back_exactly(tmp_path):
    odd = replace(trained("v100_pcie"), idle_w=0.1 + 0.2, notes=("µ",))
    path = tmp_path / "gpu" / "energy.json"
    save(path, odd, (Residual("bench", "kernel", "-n=1", 1380.0, 0.1, -0.2),))
    assert load(path) == odd
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["residuals"] == [["bench", "kernel", "-n=1", 1380.0, 0.1, -0.2]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n  ]\n}", ""),
        ('"schema_version": 1', '"schema_version": 99'),
        ('"idle_w"', '"idle"'),
        ('"fp32"', '"fp33"'),
        ('"ratio_low": ', '"ratio_low": 7'),
    ],
)
def test_a_damaged_model_names_its_file(tmp_path, old, new):
    path = tmp_path / "energy.json"
    save(path, trained("v100_pcie"), ())
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"energy\.json.*train the model again"):
        load(path)


def test_the_measured_gpus_are_trained():
    assert {"v100_pcie", "quadro_rtx_8000"} <= set(trained_gpu_ids())
    for gpu_id in trained_gpu_ids():
        model = trained(gpu_id)
        assert model.gpu_id == model.measured_on == gpu_id
        assert model.data_sha256
        assert not model.predict(WORK, load_gpu(gpu_id)).transferred_from


def test_the_default_gpu_answers_with_the_coefficients_of_the_same_chip():
    model = trained("v100")
    assert model.measured_on == "v100_pcie"
    assert model.energies == trained("v100_pcie").energies
    found = model.predict(WORK, load_gpu("v100"))
    assert found.transferred_from == "v100_pcie"
    assert any("same chip" in note for note in found.notes)


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_every_gpu_answers_or_says_why_not(gpu):
    model = energy_model(gpu)
    if isinstance(model, NoEnergyModel):
        assert model.reason
        return
    found = model.predict(WORK, gpu)
    assert 0 < found.power_low_w <= found.power_w <= found.power_high_w
    assert gpu.power_limit_w is None or found.power_high_w <= gpu.power_limit_w
    if model.measured_on != gpu.id:
        source = trained(model.measured_on)
        assert model.ratio_low < source.ratio_low
        assert model.ratio_high > source.ratio_high
        assert found.transferred_from == model.measured_on
        assert any("measured" in note for note in found.notes)


@pytest.mark.parametrize(
    ("gpu_id", "source"),
    [
        ("titan_v", "v100_pcie"),
        ("titan_rtx", "quadro_rtx_8000"),
        ("h200", "v100_pcie"),
        ("rtx_4090", "quadro_rtx_8000"),
    ],
)
def test_the_nearest_measured_gpu_stands_in(gpu_id, source):
    assert trained(gpu_id).measured_on == source


@pytest.mark.parametrize("gpu_id", ["gtx280", "gtx580"])
def test_too_old_a_chip_gets_no_model(gpu_id):
    assert isinstance(energy_model(load_gpu(gpu_id)), NoEnergyModel)
