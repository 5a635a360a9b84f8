"""`wattslice evaluate`, and the protocols behind it."""

import random
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("scipy")

from wattslice.cli import main
from wattslice.errors import WattsliceError
from wattslice.training.evaluation import Request, evaluate, steps
from wattslice.training.examples import examples
from wattslice.training.judging import errors, judge, judge_held_out, spearman
from wattslice_corpora.manifest import VariantRole, load_manifest
from wattslice_corpora.records import Use, measured_gpu_ids, sha256
from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_models.contract import Example, Interval, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.learners import MEANS
from wattslice_models.store import SHIPPED, load, power_model
from wattslice_models.types import Prediction
from wattslice_tools.accuracy.accuracy_page import begin_marker, gpu_section, plot_evaluations, update
from wattslice_tools.accuracy.accuracy_page import main as accuracy_page
from wattslice_tools.accuracy.counters import Counted, calibrated, counted, fit, with_counters
from wattslice_tools.accuracy.counters import counters_held_out as hold_out_counters
from wattslice_tools.accuracy.variants import SignScore, sign_score

from .learning_data import campaign
from .learning_data import without_pictures as without_pictures

V100 = load_gpu("v100_pcie")
END = "<!-- evaluate: end of the generated part -->"
DOCUMENT = Path(__file__).parents[2] / "docs" / "appendix" / "accuracy.md"


@pytest.fixture(scope="module")
def test_runs():
    return examples(V100, Use.TEST).examples


@pytest.fixture(scope="module")
def quick():
    return with_counters(evaluate(Request(V100, ("mean", "energy"), retrain=False)))


@pytest.mark.slow
def test_without_scipy_counters_are_left_out_and_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    found = with_counters(evaluate(Request(V100, MEANS)))
    assert len(found.protocols) >= 2
    for protocol in found.protocols:
        assert {score.name for score in protocol.scores} == set(MEANS)
        needs = (
            "DCGM counters of the same run: fitting them needs scipy: pip install '.[train]' in the checkout"
        )
        assert protocol.absent == (needs,)


def score(evaluation, name, protocol=0):
    return next(entry for entry in evaluation.protocols[protocol].scores if entry.name == name)


def test_intervals_of_held_out_runs_are_cut_nowhere():
    """Not even where sensors have shown no more: whoever judges them may not know what was measured."""
    found = evaluate(Request(load_gpu("a40"), ("energy",)))
    carried = score(found, "energy, both").predicted
    limit_w = load_gpu("a40").power_limit_w
    assert limit_w is not None
    told = [(one.prediction.power_w or 0.0, one.prediction.power_high_w or 0.0) for one in carried]
    ratios = {high_w / power_w for power_w, high_w in told}
    assert max(high_w for _, high_w in told) > 1.02 * limit_w
    assert len({round(ratio, 9) for ratio in ratios}) <= 2  # of launches without and with a doubt


def test_spearman_and_errors():
    assert spearman([1.0, 2.0, 3.0], [10.0, 20.0, 15.0]) == pytest.approx(0.5)
    assert spearman([1.0, 1.0, 2.0], [1.0, 1.0, 5.0]) == pytest.approx(1.0)
    assert spearman([1.0, 1.0], [1.0, 2.0]) is None
    found = errors([90.0, 100.0, 130.0], [100.0, 100.0, 100.0])
    assert (found.mean, found.median, found.worst) == pytest.approx((0.4 / 3, 0.1, 0.3))


def test_what_is_unknown_is_neither_right_nor_wrong(test_runs):
    example = test_runs[0]
    right = HeldOut(example, Interval(0.9, 1.1, 0.9, "test").around(example.power_w, in_domain=True))
    wrong = HeldOut(example, Interval(0.9, 1.1, 0.9, "test").around(2 * example.power_w, in_domain=True))
    silent = HeldOut(example, Prediction.unknown("why"))
    found = judge((right, wrong, silent))
    assert found.errors is not None
    assert (found.errors.runs, found.errors.mean, found.silent) == (2, pytest.approx(0.5), 1)
    assert found.coverage == 0.5
    assert judge((silent,)).errors is None
    assert judge((silent,)).coverage is None


def test_held_out_runs_get_the_interval_of_the_other_benchmarks(test_runs):
    """All benchmarks but one err by 10 %, one by a factor of three: no interval of the others holds it."""
    interval = Interval(0.99, 1.01, 0.9, "not this one")
    first, *others = {example.benchmark: example for example in test_runs}.values()
    held_out = [HeldOut(e, interval.around(e.power_w / 1.1, in_domain=True)) for e in others]
    odd = HeldOut(first, interval.around(first.power_w / 3, in_domain=True))
    found = judge_held_out((odd, *held_out))
    assert found.coverage == pytest.approx(len(others) / (len(others) + 1))


def test_models_are_shown_beside_what_knows_nothing(quick):
    first = quick.protocols[0]
    energy = ["energy", "energy, carried", "energy, both", "energy, timed"]
    assert [entry.name for entry in first.scores] == [*MEANS, *energy, "counters"]
    assert quick.tested_runs == 290
    mean_w = sum(e.power_w for e in examples(V100, Use.TRAINING).examples) / quick.trained_runs
    for one in score(quick, "mean").predicted:
        assert one.prediction.power_w == pytest.approx(mean_w)
    assert all(entry.judgement.coverage is not None for entry in first.scores)
    assert not score(quick, "counters").source_only
    assert not score(quick, "energy, timed").source_only


def test_a_model_that_loses_to_the_mean_says_so():
    found = evaluate(Request(load_gpu("gtx_1080_ti"), ("energy", "wavelet"), retrain=False))
    mean = score(found, "mean").judgement.errors
    assert mean is not None
    losing = [one for one in found.protocols[0].scores if "constant mean" in one.loses_to]
    assert losing
    for one in found.protocols[0].scores:
        if one.name not in MEANS and one.source_only:
            assert one.judgement.errors is not None
            assert (one in losing) == (one.judgement.errors.mean > mean.mean)
    assert "loses to the constant mean" in gpu_section(found)


def test_the_joint_model_answers_as_it_is_without_what_it_is_asked_about(quick):
    """Its score is that of predictions kept from training, not of the model that knows these runs."""
    model = power_model(V100, "energy")
    assert model is not None
    held_out = score(quick, "energy").predicted
    assert len(held_out) == 290
    fitted = [model.predict(one.example.subject).power_w or 0.0 for one in held_out]
    kept = [one.prediction.power_w for one in held_out]
    measured = [one.example.power_w for one in held_out]
    assert errors(fitted, measured).mean < errors(kept, measured).mean
    carried = [one.prediction.power_w for one in score(quick, "energy, carried").predicted]
    assert carried != kept


def test_leaving_applications_out_learns_from_the_others_only(tmp_path):
    gpu = load_gpu("h200")
    found = evaluate(Request(gpu, ("energy",), campaign(tmp_path)))
    assert [protocol.title for protocol in found.protocols] == [
        "Trained before, tested on applications",
        "Leave one application out",
    ]
    assert (found.trained_runs, found.tested_runs) == (10, 6)
    for one in score(found, "mean", 1).predicted:
        others = [
            other.example.power_w
            for other in score(found, "mean", 1).predicted
            if other.example.benchmark != one.example.benchmark
        ]
        assert one.prediction.power_w == pytest.approx(sum(others) / len(others))


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("has_card", [pytest.param(False, marks=pytest.mark.slow), True])
def test_runs_that_taught_a_model_are_no_test_of_it(tmp_path, capsys, has_card):
    """The same table for `train` and `evaluate`: its card alone tells training runs from test runs."""
    table = campaign(tmp_path)
    if not has_card:
        (tmp_path / "card.toml").unlink()
    words = ["--gpu", "h200", "--data", str(table), "--model", "energy"]
    assert main(["train", *words]) == 0
    capsys.readouterr()
    assert main(["evaluate", *words]) == 0
    out = capsys.readouterr().out
    assert ("Trained before, tested on applications" in out) == has_card
    assert ("On the runs it was trained on\n  No test: these runs taught the model." in out) == (not has_card)
    assert "Leave one application out" in out


def test_microbenchmarks_alone_are_cross_validated():
    found = evaluate(Request(load_gpu("gtx_titan_x"), ("energy",)))
    (protocol,) = found.protocols
    assert protocol.title == "Leave benchmarks out"
    energy = ["energy", "energy, carried", "energy, both", "energy, timed"]
    assert [entry.name for entry in protocol.scores] == [*MEANS, *energy]
    assert score(found, "energy, timed").judgement.errors is None  # nobody recorded the seconds
    clocks = {one.example.subject.clocks for one in protocol.scores[0].predicted}
    by_clock = gpu_section(found).partition(f"Mean error at three of {len(clocks)} clocks:")[2]
    assert by_clock.count("\n| ") == 4  # head, lowest, middle, highest
    with pytest.raises(WattsliceError, match="no measured run of gtx_titan_x can be compared"):
        evaluate(Request(load_gpu("gtx_titan_x"), ("energy",), retrain=False))


def test_of_one_program_the_model_of_all_boards_alone_is_judged():
    found = evaluate(Request(load_gpu("a100"), ("energy", "regression")))
    (protocol,) = found.protocols
    assert protocol.title == "One program, left out"
    energy = ["energy", "energy, carried", "energy, both", "energy, timed"]
    assert [entry.name for entry in protocol.scores] == [*MEANS, *energy]


def made_up_counts(test_runs, coefficients):
    chance = random.Random(1)
    runs = [Counted(e, tuple(chance.random() for _ in range(7))) for e in test_runs]
    return [
        replace(
            run,
            example=replace(
                run.example,
                power_w=coefficients[0]
                + sum(c * u for c, u in zip(coefficients[1:], run.utilisations, strict=True)),
            ),
        )
        for run in runs
    ]


def test_the_counter_predictor_finds_a_known_law(test_runs):
    law = (20.0, 50.0, 0.0, 30.0, 80.0, 40.0, 0.0, 10.0)
    runs = made_up_counts(test_runs, law)
    model = fit(runs)
    for found in model.coefficients.values():
        assert found == pytest.approx(law, abs=1e-6)
    for one in hold_out_counters(runs):
        assert one.ratio == pytest.approx(1.0)
    elsewhere = replace(
        runs[0],
        example=replace(
            runs[0].example,
            subject=replace(
                runs[0].example.subject, clocks=replace(runs[0].example.subject.clocks, core_mhz=1.0)
            ),
        ),
    )
    assert model.predict(elsewhere).power_w is None
    assert calibrated(runs).interval.coverage == 0.9
    with pytest.raises(NotEnoughDataError):
        fit(())


def test_counters_belong_to_the_run_they_were_counted_in(test_runs):
    found = counted(test_runs, V100)
    assert len(found) == sum(run.dataset == "hkbu-real" for run in test_runs) == 180
    assert all(0 <= value <= 1 for run in found for value in run.utilisations)
    assert counted(test_runs, load_gpu("gtx_1080_ti")) == ()


def test_the_sign_of_a_change_is_judged_at_equal_clocks(test_runs):
    """Of two pairs one is told rightly, and the other is no clear change."""
    program = next(program for program in load_manifest() if len(program.variants) >= 2)
    good, bad = (
        next(
            variant
            for variant in program.variants
            if variant.role is role and variant.pair == program.variants[0].pair
        )
        for role in (VariantRole.GOOD, VariantRole.BAD)
    )
    arguments = " ".join(str(argument) for argument in program.runs[-1].arguments)

    def run(kernel: str, core_mhz: float, power_w: float, predicted_w: float) -> HeldOut:
        subject = replace(test_runs[0].subject, clocks=Clocks(core_mhz, 877.0))
        example = Example("d", program.name, kernel, arguments, subject, power_w, None)
        return HeldOut(example, Interval(0.5, 2.0, 0.9, "test").around(predicted_w, in_domain=True))

    assert good.kernel is not None
    assert bad.kernel is not None
    runs = [run(good.kernel, 1000.0, 100.0, 90.0), run(bad.kernel, 1003.0, 120.0, 95.0)]
    runs += [run(good.kernel, 500.0, 60.0, 90.0), run(bad.kernel, 500.0, 61.0, 80.0)]
    found = sign_score(runs)
    assert found == SignScore(pairs=2, right=1, clear_pairs=1, clear_right=1)
    assert sign_score(runs[:1]) is None


def test_the_document_keeps_what_is_not_generated(quick, tmp_path):
    path = tmp_path / "doc.md"
    begin = begin_marker("v100_pcie")
    path.write_text(f"before\n{begin}\nold\n{END}\nafter {begin_marker('gtx_1080_ti')}\nother\n{END}\n")
    update(path, (quick,), {"v100_pcie": tmp_path / "plots" / "v100_pcie.svg"})
    text = path.read_text()
    assert text.startswith(f"before\n{begin}\n\n### Tesla V100 PCIe")
    assert text.endswith(f"{END}\nafter {begin_marker('gtx_1080_ti')}\nother\n{END}\n")
    assert "old" not in text
    assert "](plots/v100_pcie.svg)" in text
    update(path, (quick,), {"v100_pcie": tmp_path / "plots" / "v100_pcie.svg"})
    assert path.read_text() == text
    path.write_text("no markers")
    with pytest.raises(WattsliceError, match=r"no generated section .*v100_pcie.*add that line"):
        update(path, (quick,), {})


def test_the_command_prints_errors(capsys):
    assert main(["evaluate", "--gpu", "gtx_1080_ti", "--model", "energy", "--trained-only"]) == 0
    assert "energy model" in capsys.readouterr().out


@pytest.mark.slow
def test_pictures_of_an_evaluation_are_the_same_to_the_byte(quick, tmp_path):
    pytest.importorskip("matplotlib")
    first, again = (plot_evaluations([quick], tmp_path / name)["v100_pcie"] for name in ("a", "b"))
    assert first.read_bytes() == again.read_bytes()


def test_the_accuracy_page_refuses_a_document_without_its_markers(tmp_path, capsys):
    (tmp_path / "doc.md").write_text("no markers")
    assert accuracy_page([str(tmp_path / "doc.md"), "v100_pcie"]) == 2
    assert "add that line and <!-- evaluate: end of" in capsys.readouterr().err
    assert accuracy_page([str(tmp_path / "missing.md")]) == 2
    assert "missing.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--gpu", "riva128"], "unknown GPU 'riva128'"),
        (["--gpu", "b200"], "no measurements of b200: there is no b200.csv"),
        (
            ["--gpu", "a100", "--model", "regression"],
            "no measured run of a100 can be compared with a prediction",
        ),
        (["--model", "guess"], "no model 'guess'"),
        (["--data", "x.csv"], "--data is for one --gpu"),
        (["--gpu", "gtx_titan_x", "--trained-only"], "leave --trained-only out"),
        (["--gpu", "h200", "--data", "missing.csv"], "missing.csv: cannot be used: No such file"),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(words, complaint, capsys):
    assert main(["evaluate", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_the_committed_document_has_a_section_of_every_measured_gpu():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(begin_marker(gpu_id) in text for gpu_id in measured_gpu_ids())


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SHIPPED.glob("*/*.json") if path.stem not in ("choice", "roofline", "model")),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_shipped_models_were_trained_on_the_committed_tables(path):
    for file in load(path).provenance.data:
        assert sha256(MEASUREMENT_DIRECTORY / file.name) == file.sha256, "run `wattslice train`, see docs"


@pytest.mark.parametrize("gpu", ["gtx_1080_ti", "gtx_titan_x"])
def test_a_bar_knows_how_many_steps_are_to_come(gpu):
    """An evaluation of means alone fits without taking long."""
    request, told = Request(load_gpu(gpu), MEANS), list[str]()
    evaluate(request, told.append)
    assert len(told) <= steps(request) <= len(told) + len(MEANS)
