"""The steps of action.yml, run as GitHub would run them, with a program in wattslice's place that records."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ACTION = Path(__file__).parents[2] / "action.yml"
HOOKS = ACTION.with_name(".pre-commit-hooks.yaml")


def gate_step() -> dict[str, str]:
    return yaml.safe_load(ACTION.read_text())["runs"]["steps"][1]


class Runner:
    """Runs the gate's step; `status` by format is what the program answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "temp/wattslice/bin/wattslice"
        program.parent.mkdir(parents=True)
        program.write_text(
            '#!/bin/bash\n{ printf "<%s>" "$@"; echo; } >> "$RUNNER_TEMP/calls"\nexit "${STATUS:-0}"\n'
        )
        program.chmod(0o755)

    def run(self, *, status: int = 0, **inputs: str) -> tuple[int, list[str]]:
        (self.folder / "temp/calls").unlink(missing_ok=True)
        step = gate_step()
        given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
        known = dict.fromkeys(step["env"], "") | {"INPUT_PATHS": ".", "INPUT_FORMAT": "github"}
        places = {"RUNNER_TEMP": str(self.folder / "temp"), "GITHUB_OUTPUT": str(self.folder / "output")}
        environment = {"PATH": os.environ["PATH"], "STATUS": str(status), **known, **places, **given}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        calls = self.folder / "temp/calls"
        return done.returncode, calls.read_text().splitlines() if calls.exists() else [done.stderr]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_inputs_become_options(runner: Runner):
    status, calls = runner.run(paths="src\nmy kernels/a.cu\n", gpu="a100", against="v1", options="-I\ninc\n")
    assert status == 0
    assert calls == ["<gate><--gpu=a100><--against=v1><-I><inc><--format=github><--><src><my kernels/a.cu>"]


def test_inputs_are_never_run(runner: Runner):
    evil = "$(touch hit) `touch hit`; touch hit #\" ' && touch hit"
    _, calls = runner.run(
        paths=evil, gpu=evil, against=evil, baseline=evil, max_power=evil, options=evil, format=evil
    )
    assert not (runner.folder / "hit").exists()
    assert f"<--gpu={evil}>" in calls[0]
    assert calls[0].endswith(f"<--><{evil}>")


def test_no_expression_stands_in_a_script():
    for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_every_input_is_used():
    text = ACTION.read_text()
    inputs = yaml.safe_load(text)["inputs"]
    assert set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text)) == set(inputs)


@pytest.mark.parametrize("status", [0, 1, 2])
def test_the_status_is_passed_on(runner: Runner, status: int):
    assert runner.run(status=status)[0] == status
    assert (runner.folder / "output").read_text().splitlines()[-1] == f"status={status}"


def test_sarif_comes_besides(runner: Runner):
    status, calls = runner.run(status=1, sarif_file="out.sarif")
    assert (status, [call.split("><")[1] for call in calls]) == (1, ["--format=sarif", "--format=github"])
    assert len(runner.run(status=2, sarif_file="out.sarif")[1]) == 1  # what cannot run is not run twice


def test_the_first_push_of_a_branch_compares_with_itself(runner: Runner):
    assert "<--against=HEAD>" in runner.run(against="base")[1][0]


def test_the_hook_looks_at_what_changed():
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert (hook["id"], hook["pass_filenames"]) == ("wattslice-gate", False)
    assert hook["args"] == ["--against", "HEAD", "."]
