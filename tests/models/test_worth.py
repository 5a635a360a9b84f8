"""What models are worth: errors beside those of the means, by hand."""

import pytest
from msgspec.structs import replace

from wattslice_models import worth as worth_file
from wattslice_models.contract import UNCALIBRATED
from wattslice_models.gpu import load_gpu
from wattslice_models.learners import MEANS, NAMES
from wattslice_models.mean import MeanModel
from wattslice_models.store import ModelFileError, Provenance, Residual, TrainedModel, power_model, save
from wattslice_models.worth import HeldOutWatts, Worth, save_worth, shipped_worth, worth, worth_of


def run(group, core_mhz, measured_w, predicted_w):
    return HeldOutWatts((group, "set"), (core_mhz, None), measured_w, predicted_w)


def test_groups_count_the_same_and_have_means_of_their_own():
    runs = (
        run("a", 1000, 100.0, 110.0),  # mean of a: 150, at 1000 MHz 100, at 2000 MHz 200
        run("a", 2000, 200.0, 220.0),
        run("b", 1000, 50.0, 65.0),
    )
    found = worth("general", "wavelet", "others", "not this one", runs)
    assert found.runs == 3
    assert found.error == pytest.approx((0.1 + 0.3) / 2)
    assert found.constant_mean == pytest.approx(((0.5 + 0.25) / 2 + 0.0) / 2)
    assert found.clock_mean == pytest.approx(0.0)
    assert found.loses_to == ("constant mean", "mean at each clock")
    with pytest.raises(ValueError, match="no held-out run"):
        worth("general", "wavelet", "others", "not this one", ())


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (0.1, ""),
        (0.2, ""),  # as near as the mean at each clock
        (0.25, "; it loses to the mean at each clock"),
        (0.35, "; it loses to the constant mean and the mean at each clock"),
    ],
)
def test_what_a_reader_is_told(error, verdict):
    found = Worth("t4", "wavelet", "applications", "trained elsewhere", 7, error, 0.3, 0.2)
    assert found.loses_to_constant == (error > 0.3)
    assert found.told == (
        f"On applications of this board (trained elsewhere): the wavelet network misses 7 held-out runs by "
        f"{error:.1%} (MAPE), the constant mean by 30.0%, the mean at each clock by 20.0%{verdict}"
    )


def test_every_shipped_model_of_a_measured_board_has_its_row():
    rows = shipped_worth()
    for gpu_id in {gpu_id for gpu_id, _ in rows} - {"general"}:
        for name in set(NAMES) - set(MEANS):
            assert ((gpu_id, name) in rows) == (power_model(load_gpu(gpu_id), name) is not None), (
                gpu_id,
                name,
            )
    assert {("general", "energy"), ("general", "wavelet")} <= set(rows)
    assert worth_of(load_gpu("l4"), "wavelet") == rows["general", "wavelet"]
    assert worth_of(load_gpu("v100_pcie"), "regression") == rows["v100_pcie", "regression"]
    assert worth_of(load_gpu("gtx280"), "regression") is None


def test_a_model_of_the_user_is_worth_what_its_own_held_out_runs_say(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    rows = (
        Residual("mine", "one", "k", "", 1000.0, None, 100.0, 130.0),
        Residual("mine", "two", "k", "", 1000.0, None, 200.0, None),  # nothing was predicted: no run
        Residual("readings", "three", "k", "", 1000.0, None, 100.0, 900.0),  # of a calibration
    )
    model = TrainedModel("mean", Provenance(("l4",), 0, (), ()), MeanModel(1.0, UNCALIBRATED), rows)
    save(tmp_path / "wattslice" / "models" / "l4", model)
    found = worth_of(load_gpu("l4"), "mean")
    assert found is not None
    assert (found.runs, found.error) == (1, pytest.approx(0.3))
    assert found.told.startswith("On runs of this board (yours, each benchmark left out): the constant mean")


def test_rows_of_other_boards_are_kept_and_those_of_these_are_replaced(tmp_path, monkeypatch):
    """The command may be run for some boards only."""
    monkeypatch.setattr(worth_file, "FILE", tmp_path / "worth.json")
    shipped_worth.cache_clear()
    old = Worth("t4", "wavelet", "applications", "elsewhere", 7, 0.1, 0.3, 0.2)
    other = replace(old, gpu_id="l4")
    save_worth((old, replace(old, model="regression"), other))
    new = replace(old, error=0.4)
    save_worth((new,))
    assert shipped_worth() == {("t4", "wavelet"): new, ("l4", "wavelet"): other}
    (tmp_path / "worth.json").write_text('{"schema_version": 3, "worth": [{"gpu_id": "t4"}]}')
    shipped_worth.cache_clear()
    with pytest.raises(ModelFileError, match=r"worth\.json: entry missing"):
        shipped_worth()
    shipped_worth.cache_clear()
