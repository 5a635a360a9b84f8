"""The worker's order, with analyses that last as long as the test wants."""

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.errors import AbandonedError, WattsliceError
from wattslice.lsp.client_settings import NO_CLIENT_SETTINGS, Setup, setup_for
from wattslice.lsp.worker import Outcome, Task, Worker
from wattslice.pipeline import incremental

from ..samples import ANALYSIS

PATIENCE_S = 300.0


class Stage:
    """Analyses begin, and end when `release` is set or when they are cancelled."""

    def __init__(self) -> None:
        self.begun: queue.Queue[str] = queue.Queue()
        self.told: queue.Queue[Outcome] = queue.Queue()
        self.release = threading.Event()
        self.forgotten: list[Path] = []

    def analyze(self, path: Path, text: str, cancelled: Callable[[], bool]) -> Analysis:
        self.begun.put(text)
        if text == "wrong":
            raise WattsliceError("wrong")
        if text == "endless":
            raise AbandonedError(path, None, text, "")
        if text == "defect":
            raise KeyError("defect")
        while not self.release.wait(0.001):
            if cancelled():
                raise incremental.CancelledError("cancelled")
        return ANALYSIS

    def forget(self, path: Path) -> None:
        self.forgotten.append(path)


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()

    def analyzer_for(_config: Config, _most_s: float) -> Stage:
        return stage

    monkeypatch.setattr(incremental, "IncrementalAnalyzer", analyzer_for)
    return stage


@pytest.fixture
def worker(stage):
    worker = Worker(stage.told.put)
    yield worker
    stage.release.set()
    worker.stop()


def configure() -> Setup:
    return setup_for(Path("/nowhere/a.cu"), NO_CLIENT_SETTINGS)


def task(name: str, text: str) -> Task:
    return Task(name, Path(f"/nowhere/{name}.cu"), (text,), 0, configure)


def test_a_newer_text_replaces_the_older(stage, worker):
    worker.submit(task("a", "old"))
    assert stage.begun.get(timeout=PATIENCE_S) == "old"
    worker.submit(task("a", "newer"))
    assert stage.begun.get(timeout=PATIENCE_S) == "newer"
    stage.release.set()
    assert stage.told.get(timeout=PATIENCE_S).task.lines == ("newer",)
    assert stage.told.empty()


def test_a_long_analysis_makes_way_and_is_taken_up_again(stage, worker):
    worker.submit(task("long", "long"))
    assert stage.begun.get(timeout=PATIENCE_S) == "long"
    worker.submit(task("short", "short"))
    assert stage.begun.get(timeout=PATIENCE_S) == "short"
    stage.release.set()
    told = [stage.told.get(timeout=PATIENCE_S).task.uri for _ in range(2)]
    assert told == ["short", "long"]


def test_a_closed_document_is_not_taken_up_again(stage, worker):
    worker.submit(task("a", "a"))
    stage.begun.get(timeout=PATIENCE_S)
    worker.forget("a", Path("/nowhere/a.cu"))
    worker.submit(task("b", "b"))
    assert stage.begun.get(timeout=PATIENCE_S) == "b"
    stage.release.set()
    assert stage.told.get(timeout=PATIENCE_S).task.uri == "b"
    assert stage.forgotten == [Path("/nowhere/a.cu")]
    assert stage.told.empty()


@pytest.mark.parametrize(
    ("text", "message"), [("wrong", "wrong"), ("defect", "internal error: KeyError: 'defect'")]
)
def test_failures_are_told_and_the_next_text_is_analysed(stage, worker, text, message):
    worker.submit(task("a", text))
    outcome = stage.told.get(timeout=PATIENCE_S)
    assert outcome.analysis is None
    assert str(outcome.error) == message
    stage.release.set()
    worker.submit(task("a", "fine"))
    assert stage.told.get(timeout=PATIENCE_S).analysis is ANALYSIS


def test_a_text_that_was_abandoned_is_not_tried_again(stage, worker):
    def submit(text: str) -> Outcome:
        worker.submit(Task("a", Path("a.cu"), (text,), 1, configure))
        return stage.told.get(timeout=PATIENCE_S)

    first, second = submit("endless"), submit("endless")
    assert isinstance(first.error, AbandonedError)
    assert second.error is first.error
    assert stage.forgotten == [Path("a.cu")]
    stage.release.set()
    assert submit("short").analysis is ANALYSIS
    submit("endless")
    assert [stage.begun.get_nowait() for _ in range(3)] == ["endless", "short", "endless"]
