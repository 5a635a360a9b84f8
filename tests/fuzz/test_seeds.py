"""What the fuzzer once found, and a mutant of every input format (`.ci/check` tries a thousand)."""

import random
import re

import pytest

from . import fuzz
from .fuzz import SEEDS, kinds, mutant, outcome_of, seed_of

KINDS = kinds()


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.seed")), ids=lambda path: path.stem)
@pytest.mark.slow
def test_what_was_found_once(path):
    name, command, text = seed_of(path)
    kind = KINDS[name]
    outcome = outcome_of(kind, kind.commands[command], text)
    assert outcome.defect == "", outcome.output


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.slow
def test_the_samples_are_understood_and_a_mutant_does_no_harm(kind):
    outcome = outcome_of(kind, kind.commands[0], kind.samples[0])
    assert outcome.defect == ""
    complaints = re.findall(r"^wattslice: (?!.* \.\.\.$).*", outcome.output, re.MULTILINE)
    assert complaints == []
    outcome = outcome_of(kind, kind.commands[0], mutant(kind, random.Random("test")))
    assert outcome.defect == "", outcome.output


@pytest.mark.slow
def test_a_defect_is_found(monkeypatch):
    def fail(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr("wattslice.pipeline.files.analyze_launch", fail)
    kind = KINDS["k.cu"]
    for command in kind.commands:
        assert outcome_of(kind, command, kind.samples[0]).defect != ""


def test_an_entry_in_place_of_the_kept_one_is_read():
    kind = KINDS["entry.json"]
    text, changed = re.subn(rb'"power_w":[\d.]+', b'"power_w":77.25', kind.samples[0])
    assert changed
    assert '"power_w": 77.25' in outcome_of(kind, kind.commands[0], text).output


def test_a_session_ends_with_answers_of_an_analysis(monkeypatch):
    monkeypatch.setattr(fuzz, "PATIENCE_S", 60.0)
    kind = KINDS["session.jsonl"]
    assert re.search(r'"title": "[\d.]+ W', outcome_of(kind, kind.commands[0], kind.samples[0]).output)
