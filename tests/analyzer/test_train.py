"""`wattslice train` on a made-up campaign."""

import json
import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("scipy")

from wattslice.cli import main
from wattslice.training import training
from wattslice.training.model_card import model_card
from wattslice.training.training import TrainedEntry, choose, hollow, train, training_data
from wattslice_models.contract import UNCALIBRATED, Learner, ModelKind, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut
from wattslice_models.gpu import load_gpu
from wattslice_models.learners import MEANS, LearnerEntry, entry, learner
from wattslice_models.mean import MeanModel
from wattslice_models.store import SHIPPED, Provenance, TrainedModel, load, load_choice, power_model
from wattslice_models.types import Prediction
from wattslice_models.wavelet_network import WaveletModel

from .learning_data import campaign
from .learning_data import without_pictures as without_pictures

GPUS = Path(__file__).parents[2] / "models" / "wattslice_models" / "gpus"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return campaign(tmp_path_factory.mktemp("campaign"))


def my_gpu(folder, text=""):
    """A GPU that the catalogue does not have, as a file."""
    path = folder / "my_gpu.toml"
    h200 = (GPUS / "h200.toml").read_text()
    path.write_text(h200.replace('id = "h200"', 'id = "my_gpu"').replace('name = "', 'name = "My ', 1) + text)
    return path


@pytest.mark.usefixtures("without_pictures")
def test_a_new_gpu_is_a_file_and_one_command(table, tmp_path, capsys):
    gpu = my_gpu(tmp_path)
    assert main(["train", "--gpu", str(gpu), "--data", str(table), "--model", "energy"]) == 0
    assert "--model auto takes energy" in capsys.readouterr().out
    found = load_choice("my_gpu")
    assert found is not None
    assert found.name == "energy"
    source = table.parent / "sources" / "slice0.cu"
    assert main(["analyze", str(source), "--gpu", str(gpu), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (kernel,) = report["kernels"]
    assert (report["gpu"], kernel["model"]) == ("my_gpu", "energy")
    assert not any("scaled from" in entry["message"] for entry in report["diagnostics"])


@pytest.mark.slow
def test_what_was_trained_is_written_and_the_same_each_time(table, tmp_path, capsys, monkeypatch):
    words = ["train", "--gpu", "h200", "--data", str(table), "--model", "mean", "--seed", "5"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    with monkeypatch.context() as without:  # that pictures are the same twice is tested where they are drawn
        without.setitem(sys.modules, "matplotlib", None)
        assert main([*words, "--out", str(tmp_path / "b")]) == 0
    assert {path.name for path in (tmp_path / "b").iterdir()} == {"card.md", "mean.json"}
    assert (tmp_path / "a" / "mean.json").read_bytes() == (tmp_path / "b" / "mean.json").read_bytes()
    cards = [(tmp_path / name / "card.md").read_text() for name in ("a", "b")]
    assert re.sub(r"\n!\[.*", "", cards[0]).split() == cards[1].split()
    trained = load(tmp_path / "a" / "mean.json")
    assert (trained.provenance.seed, trained.provenance.gpu_ids) == (5, ("h200",))
    assert [entry.name for entry in trained.provenance.data] == ["measured.csv"]
    assert len(trained.residuals) == 10  # of the training set only
    card = cards[0]
    for told in ("10 runs of 5 benchmarks", "Known fault: not a measurement.", "Seed 5.", "SHA-256"):
        assert told in card
    capsys.readouterr()
    pytest.importorskip("matplotlib")
    for name in ("predicted", "residuals", "learning_curve"):
        assert "<svg" in (tmp_path / "a" / f"{name}.svg").read_text()
        assert (tmp_path / "a" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"![{name}.svg]" in card


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_one_model_leaves_an_earlier_choice_alone(table, tmp_path, capsys):
    words = ["train", "--gpu", "h200", "--data", str(table), "--out", str(tmp_path), "--model"]
    assert main([*words, "energy"]) == 0
    before = (tmp_path / "choice.json").read_text()
    assert main([*words, "mean"]) == 0
    assert (tmp_path / "choice.json").read_text() == before
    capsys.readouterr()
    assert main([*words, "regression"]) == 0
    assert (tmp_path / "choice.json").read_text() == before
    assert "--model auto takes energy" in capsys.readouterr().out
    assert "was not chosen here" in (tmp_path / "card.md").read_text()


def test_the_interval_holds_what_was_held_out(table):
    gpu = load_gpu("h200")
    result = train(training_data((gpu,), (table,)), "energy")
    (one,) = result.entries
    interval = one.trained.model.interval
    assert all(interval.low <= (part.ratio or 0.0) <= interval.high for part in one.held_out)
    assert "5 benchmarks" in interval.source
    assert one.curve[0].kernels <= one.curve[-1].kernels
    assert [part.held_out_w for part in one.trained.residuals] == [
        part.prediction.power_w for part in one.held_out
    ]


def test_auto_takes_the_least_error_and_never_a_mean():
    rows = training_data((load_gpu("v100_pcie"),), ()).examples[:5]
    examples = tuple(replace(row, benchmark=f"program{number}") for number, row in enumerate(rows))

    def candidate(name: str, error: float | None) -> TrainedEntry:
        held_out = tuple(
            HeldOut(
                example,
                Prediction.unknown("why")
                if error is None
                else Prediction(example.power_w * (1 + error), 0, 1e9, "test", True),
            )
            for example in examples
        )
        model = TrainedModel(name, Provenance((), 0, (), ()), MeanModel(1.0, UNCALIBRATED), ())
        return TrainedEntry(entry(name), model, held_out, (), ())

    better, worse = candidate("energy", 0.1), candidate("regression", 0.2)
    assert choose((candidate("energy", 0.2), candidate("regression", 0.1)), {}).name == "regression"
    found = choose((candidate("mean", 0.01), worse, better), {"wavelet": "no torch"})
    assert found.name == "energy"
    assert [one.name for one in found.candidates] == ["mean", "energy", "regression", "wavelet"]
    assert choose((candidate("mean", 0.3),), {}).name == "mean"
    silent = choose((worse, candidate("energy", None)), {})
    assert silent.name == "regression"
    assert "speaks about 0%" in silent.candidates[-1].reason


def test_variants_of_a_few_programs_choose_nothing():
    """mixbench-a and mixbench-b are one kind: the one that is held out has its sibling among what teaches."""
    rows = training_data((load_gpu("v100_pcie"),), ()).examples[:6]
    examples = tuple(replace(row, benchmark=f"mixbench-{number}") for number, row in enumerate(rows))

    def candidate(name: str, error: float) -> TrainedEntry:
        held_out = tuple(
            HeldOut(one, Prediction(one.power_w * (1 + error), 0, 1e9, "test", True)) for one in examples
        )
        model = TrainedModel(name, Provenance((), 0, (), ()), MeanModel(1.0, UNCALIBRATED), ())
        return TrainedEntry(entry(name), model, held_out, (), ())

    found = choose((candidate("regression", 0.1), candidate("energy", 0.2)), {})
    assert found.name == "energy"
    assert found.reason.startswith("1 kinds of programs (mixbench) are too few")
    assert choose((candidate("regression", 0.1),), {}).name == "regression"


@pytest.mark.slow
def test_a_card_has_the_means_beside_a_model_that_was_trained_alone(table):
    alone = train(training_data((load_gpu("h200"),), (table,)), "energy")
    runs = sum(part.ratio is not None for part in alone.entries[0].held_out)
    card = model_card(alone, ())
    (told,) = [line for line in card.splitlines() if line.startswith("On benchmarks that it never saw")]
    assert f"the energy model misses {runs} held-out runs by" in told
    measured = [one.power_w for one in alone.data.examples]
    mean_w = sum(measured) / len(measured)
    constant = sum(abs(mean_w / one - 1.0) for one in measured) / len(measured)
    assert f"the constant mean by {constant:.1%}" in told
    with_means = train(training_data((load_gpu("h200"),), (table,)), "mean")
    assert "On benchmarks that it never saw" not in model_card(with_means, ())


@pytest.mark.slow
def test_no_hollow_network_is_shipped():
    """Each took more than a first step of training, and says different watts of different kernels."""
    found = [load(path) for path in sorted(SHIPPED.glob("*/wavelet*.json"))]
    assert len(found) >= 4
    for one in found:
        assert isinstance(one.model, WaveletModel)
        data = training_data(tuple(map(load_gpu, one.provenance.gpu_ids)), ())
        assert hollow(one.model, data.examples) == "", (one.provenance.gpu_ids, one.name)


def flattened(model: WaveletModel, share: float) -> WaveletModel:
    """A network whose answers are so much nearer to its mean."""
    wavelons = tuple(replace(one, output_weight=share * one.output_weight) for one in model.wavelons)
    return replace(model, wavelons=wavelons)


@pytest.mark.parametrize(
    ("steps", "share", "reason"),
    [
        (0, 1.0, "no step of training"),
        (1, 1.0, "only one step of training"),
        (2, 1.0, ""),
        (200, 0.0, "0%"),
        (200, 0.2, "less than 10%"),
        (200, 0.8, ""),
    ],
)
def test_a_network_that_learnt_nothing_of_kernels_is_hollow(steps, share, reason):
    """The shipped one of this board shows 31 % of the spread of its runs at equal clocks."""
    shipped = load(SHIPPED / "quadro_rtx_8000" / "wavelet.json").model
    assert isinstance(shipped, WaveletModel)
    model = replace(flattened(shipped, share), training_steps=steps)
    told = hollow(model, training_data((load_gpu("quadro_rtx_8000"),), ()).examples)
    assert bool(told) == bool(reason)
    assert reason in told


def test_a_network_that_knows_clocks_alone_is_hollow():
    """Watts that follow the clock spread, but not between kernels at one clock."""
    shipped = load(SHIPPED / "v100_pcie" / "wavelet.json").model
    assert isinstance(shipped, WaveletModel)
    kept = range(len(shipped.inputs))
    clock = [number for number in kept if "clock" in shipped.inputs[number].name]
    assert clock
    wavelons = tuple(
        replace(one, weights=tuple(5.0 * one.weights[n] if n in clock else 0.0 for n in kept))
        for one in shipped.wavelons
    )
    blind = replace(shipped, wavelons=wavelons)
    examples = training_data((load_gpu("v100_pcie"),), ()).examples
    assert len({round(blind.predict(one.subject).power_w or 0.0) for one in examples}) > 3
    assert "spread by 0% of what was measured" in hollow(blind, examples)


@pytest.mark.parametrize("steps", [0, 1])
def test_a_hollow_network_is_no_model(table, monkeypatch, steps):
    """Early stopping may find that nothing helps: such a network says the same of every kernel."""
    shipped = load(SHIPPED / "quadro_rtx_8000" / "wavelet.json").model
    assert isinstance(shipped, WaveletModel)

    class Hollow:
        kind = ModelKind.WAVELET

        def fit(self, examples: object, seed: int = 0) -> WaveletModel:
            return replace(shipped, training_steps=steps)

    def found_hollow(known: LearnerEntry) -> Learner:
        return Hollow() if known.name == "wavelet" else learner(known)

    monkeypatch.setattr(training, "learner", found_hollow)
    data = training_data((load_gpu("h200"),), (table,))
    with pytest.raises(NotEnoughDataError, match="step of training"):
        train(data, "wavelet")
    monkeypatch.setattr(training, "NAMES", ("mean", "wavelet"))
    told = train(data, "auto").choice.candidates
    assert [(one.name, bool(one.reason)) for one in told] == [("mean", False), ("wavelet", True)]


def test_a_regression_needs_density_and_says_so(table):
    data = training_data((load_gpu("h200"),), (table,))
    few = data.examples[:4]
    with pytest.raises(NotEnoughDataError, match="at least 8"):
        train(type(data)(data.gpus, few, (), (), ()), "regression")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--gpu says which GPU was measured"),
        (["--gpu", "riva128"], "unknown GPU 'riva128'"),
        (["--gpu", "b200"], "no measurements of b200: there is no b200.csv (give measurements with --data)"),
        (["--gpu", "v100"], "there is no v100.csv (give measurements with --data, or take v100_pcie)"),
        (["--gpu", "gtx_1080_ti"], "no measured run of gtx_1080_ti to train on: none is for training"),
        (["--gpu", "v100_pcie", "--model", "guess"], "no model 'guess'; one of auto, mean"),
        (
            ["--gpu", "v100_pcie", "--data", "missing.csv"],
            "missing.csv: cannot be read: No such file or directory (check --data)",
        ),
        (["--gpu", "v100_pcie", "--data", str(GPUS / "v100.toml")], "v100.toml:1: columns must be dataset"),
        (
            ["--gpu", "v100_pcie", "--gpu", "quadro_rtx_8000", "--model", "energy"],
            "the energy model is of one GPU, not of 2",
        ),
        (["--gpu", "missing.toml"], "missing.toml: cannot be read: No such file"),
        (["--gpu", str(GPUS / "v100.toml")], "the id 'v100' is taken by the catalogue (choose another id)"),
        (["--gpu", "v100", "--gpu", "t4", "--data", "x.csv"], "--data is for one --gpu"),
        (
            ["--gpu", "v100_pcie", "--gpu", "quadro_rtx_8000", "--model", "regression"],
            "the regression is of one GPU, not of 2 (give one --gpu, or --model wavelet)",
        ),
        (
            ["--gpu", "v100_pcie", "--out", "/dev/null/x"],
            "cannot be written: Not a directory (choose another",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(words, complaint, capsys):
    assert main(["train", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_a_damaged_gpu_file_names_the_entry(tmp_path, capsys):
    assert main(["train", "--gpu", str(my_gpu(tmp_path, "wings = 2\n"))]) == 2
    assert "wings: " in capsys.readouterr().err


def test_too_few_benchmarks_are_told(tmp_path, capsys):
    table = campaign(tmp_path)
    for number in range(1, 5):
        (tmp_path / "sources" / f"slice{number}.cu").unlink()
    assert main(["train", "--gpu", "h200", "--data", str(table), "--model", "mean"]) == 2
    assert "1 benchmark(s): at least 2 are needed to leave one out" in capsys.readouterr().err


def test_a_missing_package_is_told(table, tmp_path, capsys, monkeypatch):
    without(monkeypatch, "scipy", "torch", "pywt")
    words = ["train", "--gpu", "h200", "--data", str(table), "--out", str(tmp_path), "--model"]
    assert main([*words, "regression"]) == 2
    assert (
        "training the regression needs scipy: pip install '.[train]' in the checkout"
        in capsys.readouterr().err
    )
    assert main(["train", "--gpu", "h200", "--gpu", "v100_pcie", "--out", str(tmp_path)]) == 2
    assert "training the wavelet network needs torch" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*words, "mean"]) == 0
    assert (
        "no pictures: pictures need matplotlib: pip install '.[report]' in the checkout"
        in capsys.readouterr().err
    )
    assert not list(tmp_path.glob("*.svg"))


def without(monkeypatch, *packages):
    """As on an installation without extras."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith("wattslice_models.")]:
        if name.endswith(("_fit", "_tests")):
            monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("without_pictures")
def test_a_mean_is_never_what_auto_takes(table, tmp_path, capsys, monkeypatch):
    """Here every power model lacks data: what was chosen before stands."""

    def lacking(known):
        if known.name not in MEANS:
            raise NotEnoughDataError("too few")
        return learner(known)

    def ready(model: str, gpus: object) -> None:
        pass

    monkeypatch.setattr("wattslice.training.training.learner", lacking)
    monkeypatch.setattr("wattslice.training.training.check_packages", ready)
    assert main(["train", "--gpu", "h200", "--data", str(table), "--out", str(tmp_path)]) == 0
    assert "nothing was chosen for --model auto" in capsys.readouterr().out
    assert not (tmp_path / "choice.json").exists()
    card = (tmp_path / "card.md").read_text()
    assert (
        "No model that knows of a kernel could be trained: what `--model auto` takes was not chosen" in card
    )


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_models_of_a_user_answer_at_once(table):
    assert main(["train", "--gpu", "h200", "--data", str(table), "--model", "energy"]) == 0
    gpu = load_gpu("h200")
    (subject, *_) = [example.subject for example in training_data((gpu,), (table,)).examples]
    model = power_model(gpu, "energy")
    assert model is not None
    assert "5 benchmarks" in model.interval.source
    assert model.predict(subject).power_w
