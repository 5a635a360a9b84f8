import json

import pytest
from msgspec.structs import replace

from wattslice_models.contract import UNCALIBRATED
from wattslice_models.energy import Case, EnergyModel, NoEnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import gpus, load_gpu
from wattslice_models.joint_store import joint_model
from wattslice_models.mean import MeanModel
from wattslice_models.store import (
    CandidateError,
    Choice,
    DataFile,
    ModelFileError,
    Provenance,
    Residual,
    TrainedModel,
    Version,
    energy_model,
    load,
    load_choice,
    power_model,
    save,
    save_choice,
    trained_gpu_ids,
    trained_names,
)
from wattslice_models.user_folder import user_models
from wattslice_models.workload import Instructions, Workload

WORK = Workload(8000, 256, 64.0, Instructions(fp32=1000.0, load_store=3.0), None, 12.0, 12.0, 12.0)


def trained(gpu_id):
    found = energy_model(load_gpu(gpu_id))
    assert isinstance(found, EnergyModel)
    return found


def stored(model=None):
    power = EnergyPowerModel(trained("v100_pcie") if model is None else model)
    provenance = Provenance(("v100_pcie",), 3, (DataFile("a.csv", "ab"),), (Version("numpy", "2"),))
    residual = Residual("set", "bench", "kernel", "-n=1", 1380.0, None, 100.1, None)
    return TrainedModel("energy", provenance, power, (residual, replace(residual, held_out_w=0.1 + 0.2)))


def test_a_model_reads_back_exactly(tmp_path):
    odd = stored(replace(trained("v100_pcie"), idle_w=0.1 + 0.2, notes=("µ",)))
    path = save(tmp_path / "gpu", odd)
    assert path.name == "energy.json"
    assert load(path) == odd
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["kind"] == "energy"
    assert document["residuals"][0] == ["set", "bench", "kernel", "-n=1", 1380.0, None, 100.1, None]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "wattslice" / "models"


def test_what_the_user_trained_comes_first(home):
    gpu = load_gpu("v100_pcie")
    shipped = power_model(gpu, "energy")
    mine = stored(replace(trained("v100_pcie"), idle_w=1.0))
    save(home / "v100_pcie", mine)
    assert user_models() == home
    assert power_model(gpu, "energy") == mine.model != shipped
    assert EnergyPowerModel(trained("v100_pcie")) == mine.model


def test_a_model_of_several_gpus_answers_where_there_is_none(home):
    mean = MeanModel(100.0, UNCALIBRATED)
    assert power_model(load_gpu("a10"), "wavelet-published") is None
    save(home / "general", TrainedModel("mean", Provenance((), 0, (), ()), mean, ()))
    assert power_model(load_gpu("a10"), "mean") == mean
    assert trained_names(load_gpu("a10")) == ()


def test_the_choice_reads_back(home):
    choice = Choice(
        "energy", True, "why", (CandidateError("energy", 0.1, ""), CandidateError("mean", None, "why"))
    )
    save_choice(home / "a10", choice)
    assert load_choice("a10") == choice
    assert load_choice("t4") is None
    (home / "a10" / "choice.json").write_text("[]")
    with pytest.raises(ModelFileError, match=r"choice\.json: not a JSON object"):
        load_choice("a10")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n  ]\n}", ""),
        ('"schema_version": 3', '"schema_version": 99'),
        ('"kind": "energy"', '"kind": "mean"'),
        ('"name": "energy"', '"name": "guess"'),
        ('"idle_w"', '"idle"'),
        ('"fp32"', '"fp33"'),
        ('"low": ', '"low": 7'),
    ],
)
def test_a_damaged_model_names_its_file(tmp_path, old, new):
    path = save(tmp_path, stored())
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"energy\.json.*train the model again"):
        load(path)


def test_the_measured_gpus_are_trained():
    assert {"v100_pcie", "quadro_rtx_8000", "gtx_titan_x"} <= set(trained_gpu_ids())


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_every_gpu_answers_or_says_why_not(gpu):
    model = energy_model(gpu)
    if isinstance(model, NoEnergyModel):
        assert model.reason
        return
    found = model.predict(WORK, gpu)
    assert 0 < found.power_low_w <= found.power_w <= found.power_high_w
    assert found.power_w <= gpu.power_limit_w
    assert found.power_high_w <= gpu.power_limit_w * model.sensor_peak
    assert (model.case is Case.MEASURED) == (joint_model().board(gpu.id) is not None)
    assert (model.case is Case.CARRIED_OVER) == any("none of them is this one" in n for n in found.notes)
    assert found.case is model.case


@pytest.mark.parametrize("gpu_id", ["gtx280", "gtx580"])
def test_too_old_a_chip_gets_no_model(gpu_id):
    assert isinstance(energy_model(load_gpu(gpu_id)), NoEnergyModel)
