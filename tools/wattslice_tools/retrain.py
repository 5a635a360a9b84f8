"""Every coefficient, card and table of power anew, from the committed measurements.

    python -m wattslice_tools.retrain [--sources DIR] [--only STEP ...]

Steps, in this order: `features` (of the public kernels, from the git checkouts in the folder DIR; left out
without --sources), `joint` (the model of all boards, its held-out runs and its tables), `slices` (regression
and wavelet networks of the boards with training runs), `rooflines`, `pages` (accuracy.md and lines.md in
docs/appendix, `worth.json` with what models say of themselves, how far the gate trusts a ratio, what variants
teach in docs/sweep.md).
Samples follow with `pytest --update-golden tests/docs tests/analyzer` and `python docs/pictures/draw.py`.
OMP_NUM_THREADS=1 makes it faster on a busy machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from wattslice.cli import main as wattslice
from wattslice.errors import WattsliceError
from wattslice.gate import ratio_trust
from wattslice_corpora.records import RecordError
from wattslice_models.joint_store import FOLDER, held_out_runs, joint_model, save_joint
from wattslice_models.learners import GENERAL
from wattslice_models.store import SHIPPED, trained_gpu_ids
from wattslice_tools.accuracy import accuracy_page, idle_readings, joint_page, known_lines, taught_variants
from wattslice_tools.accuracy.joint_training import public_readings, train_joint
from wattslice_tools.pages import write_page
from wattslice_tools.public_sets.__main__ import main as public_sets
from wattslice_tools.public_sets.checkout import find_recipes
from wattslice_tools.rooflines.__main__ import main as rooflines
from wattslice_tools.wild import gate_ratios

PAGE = Path(__file__).parents[2] / "docs" / "appendix" / "accuracy.md"


class Step(StrEnum):
    """What can be made anew on its own."""

    FEATURES = "features"
    JOINT = "joint"
    SLICES = "slices"
    ROOFLINES = "rooflines"
    PAGES = "pages"


def main(arguments: list[str] | None = None) -> int:
    """Runs the steps; 0 when all went well, 2 with a message when not."""
    parser = argparse.ArgumentParser(
        prog="python -m wattslice_tools.retrain",
        description="Makes every coefficient, card and table of power anew.",
    )
    parser.add_argument("--sources", type=Path, metavar="DIR", help="folder with the public checkouts")
    parser.add_argument("--only", type=Step, choices=tuple(Step), action="append", help="may be repeated")
    options = parser.parse_args(arguments)
    steps: dict[Step, Callable[[], None]] = {
        Step.FEATURES: lambda: _features(options.sources),
        Step.JOINT: _joint,
        Step.SLICES: _slices,
        Step.ROOFLINES: _rooflines,
        Step.PAGES: _pages,
    }
    wanted = options.only or [step for step in Step if options.sources or step is not Step.FEATURES]
    try:
        for step in Step:
            if step in wanted:
                start = time.monotonic()
                steps[step]()
                _tell(f"{step}: {time.monotonic() - start:.0f} s")
    except (WattsliceError, RecordError, OSError) as error:
        print(f"wattslice_tools.retrain: {error}", file=sys.stderr)
        return 2
    return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _done(status: int, what: str) -> None:
    if status:
        raise WattsliceError(f"{what} failed", remedy="see above")


def _features(sources: Path | None) -> None:
    if sources is None:
        raise WattsliceError("features need the public sources", remedy="give --sources")
    for checkout in sorted(sources.iterdir()):
        try:
            recipes = find_recipes(checkout, None)
        except WattsliceError:
            continue
        _tell(f"features: {recipes.path.stem} from {checkout}")
        _done(public_sets(["--sources", str(checkout)]), str(checkout))


def _joint() -> None:
    readings, _ = public_readings()
    found = train_joint(readings, lambda what: _tell(f"joint: {what}"))
    save_joint(FOLDER, found.model, found.held_out_runs())
    joint_model.cache_clear()
    held_out_runs.cache_clear()
    accuracy_page.replace_section(PAGE, *joint_page.MARKERS, joint_page.section(found))


def _slices() -> None:
    boards = trained_gpu_ids()
    for gpu_id in boards:
        for stale in (SHIPPED / gpu_id).glob("wavelet*.json"):
            stale.unlink()  # it comes again, if it learns anything
        _train("--gpu", gpu_id, "--out", str(SHIPPED / gpu_id))
    several = [word for gpu_id in boards for word in ("--gpu", gpu_id)]
    _train(*several, "--model", "wavelet", "--out", str(SHIPPED / GENERAL))


def _rooflines() -> None:
    for path in sorted(SHIPPED.glob("*/roofline.json")):
        _done(rooflines([path.parent.name, "--out", str(path.parent)]), "fitting")


def _train(*words: str) -> None:
    _tell(f"train {' '.join(words)}")
    _done(wattslice(["train", *words]), "training")


def _pages() -> None:
    _done(accuracy_page.main([str(PAGE)]), "the page of errors")
    _done(idle_readings.main([str(PAGE)]), "what idle readings are worth")
    _done(write_page([str(PAGE.with_name("lines.md"))], "accuracy.known_lines", known_lines.page), "lines")
    gate_ratios.main(["--data", str(ratio_trust.DATA), "-o", str(PAGE.with_name("gate.md"))])
    _done(taught_variants.main([str(PAGE.parents[1] / "sweep.md")]), "what variants teach")


if __name__ == "__main__":
    sys.exit(main())
