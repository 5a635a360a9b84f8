"""What each round of work on the energy model did to its errors, as Markdown. Needs the repository's history.

    python -m wattslice_tools.wild.model_rounds [-o docs/accuracy.md]

Every round is a commit: its own code fits the energy model to its own training rows and predicts its own
applications, with predicted and with measured seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from wattslice_tools.wild.document import publish

ROOT = Path(__file__).parents[3]
GPUS = ("v100_pcie", "quadro_rtx_8000")


@dataclass(frozen=True, slots=True)
class Round:
    """A commit and what was mended in it, beside the worst cause at that time."""

    commit: str
    title: str


ROUNDS = (
    Round("39bf5b0", "before"),
    Round("8461158", "multipliers at idle operands (zeros, infinities) told from those at work"),
    Round("b32215c", "what live values draw, from matched pairs; 4 runs of a throttled board left out"),
    Round(
        "2ebfd93", "texture units limit time; half of the active power belongs to the chip, not to its SMs"
    ),
    Round(
        "cd492aa", "counts: 64-bit conversions, bit tests, unrolling; sizes of arrays, L2 by waves of blocks"
    ),
    Round("75a2017", "times fitted with a loss that outliers cannot bend"),
    Round("2d214e5", "arithmetic, memory and waiting overlap with a fitted exponent"),
    Round("56fbe31", "physical limits of time parameters; no voltage beyond the highest measured clock"),
    Round("93ad206", "what a reference chooses between is known when loops are unrolled, and no selection"),
)

_CODE = """
import json, statistics, sys
from wattslice.training.examples import examples
from wattslice_corpora.records import Use
from wattslice_models.energy_fit import EnergyLearner
from wattslice_models.gpu import load_gpu
gpu = load_gpu(sys.argv[1])
model = EnergyLearner().fit(examples(gpu, Use.TRAINING).examples)
applications = examples(gpu, Use.TEST).examples
errors, told, seconds = [], [], []
for run in applications:
    errors.append(abs(model.predict(run.subject).power_w / run.power_w - 1))
    if run.time_s is None:
        continue
    launches = model.launches(run.subject)
    predicted_s = sum(launch.repeat * part.time_s for launch, part in launches)
    seconds.append(abs(predicted_s / run.time_s - 1))
    joules = sum(
        launch.repeat * part.time_s * model.model.predict(
            launch.workload, gpu, run.subject.clocks, part.time_s * run.time_s / predicted_s
        ).power_w
        for launch, part in launches
    )
    told.append(abs(joules / predicted_s / run.power_w - 1))
print(json.dumps([statistics.fmean(values) for values in (errors, told, seconds)]))
"""


def errors(tree: Path, gpu: str) -> list[float]:
    """Mean errors of watts, of watts with measured seconds, and of seconds, by the code in `tree`."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, gpu],
        cwd=tree,
        env={"PYTHONPATH": ":".join(str(tree / root) for root in ("analyzer", "models", "corpora"))},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> int:
    """Runs every round in a checkout of its commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    lines = [
        "| Commit | Round | V100: watts | with measured seconds | seconds "
        "| RTX 8000: watts | with measured seconds | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in ROUNDS:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            command = ["git", "-C", str(ROOT), "worktree"]
            added = [*command, "add", "--detach", str(tree), entry.commit]
            subprocess.run(added, check=True, capture_output=True)
            try:
                figures = [f"{error:.1%}" for gpu in GPUS for error in errors(tree, gpu)]
            finally:
                subprocess.run([*command, "remove", "--force", str(tree)], check=True)
        lines.append(f"| {entry.commit} | {entry.title} | {' | '.join(figures)} |")
        print(lines[-1], file=sys.stderr)
    publish(options.output, "model_rounds", [*lines, ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
