"""The steps of action.yml, run as GitHub would run them, with a program in wattslice's place that records."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from wattslice.frontend.neighbours import SUFFIXES

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
            '#!/bin/bash\n{ printf "<%s>" "$@"; echo; } >> "$RUNNER_TEMP/calls"\n'
            'if [[ $4 == *.sarif && -f template ]]; then cp template "$4"; fi\nexit "${STATUS:-0}"\n'
        )
        program.chmod(0o755)

    def run(
        self, *, status: int = 0, event: dict[str, str] | None = None, **inputs: str
    ) -> tuple[int, list[str]]:
        (self.folder / "temp/calls").unlink(missing_ok=True)
        step = gate_step()
        given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
        known = dict.fromkeys(step["env"], "") | {"INPUT_PATHS": ".", "INPUT_FORMAT": "github"}
        places = {"RUNNER_TEMP": str(self.folder / "temp"), "GITHUB_OUTPUT": str(self.folder / "output")}
        environment = {
            "PATH": os.environ["PATH"],
            "STATUS": str(status),
            **known,
            **places,
            **given,
            **(event or {}),
        }
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.said = done.stdout
        calls = self.folder / "temp/calls"
        return done.returncode, calls.read_text().splitlines() if calls.exists() else [done.stderr]

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
        command = ["git", "-C", str(self.folder), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", "one")
        return self.git("rev-parse", "HEAD")

    def output(self) -> list[str]:
        return (self.folder / "output").read_text().splitlines()


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


def test_suppressed_results_stay_out_of_the_sarif_file(runner: Runner):
    results = [{"ruleId": "PW020"}, {"ruleId": "PW041", "suppressions": [{"kind": "inSource"}]}]
    (runner.folder / "template").write_text(json.dumps({"runs": [{"results": results}]}))
    assert runner.run(sarif_file="out.sarif")[0] == 0
    assert json.loads((runner.folder / "out.sarif").read_text()) == {"runs": [{"results": results[:1]}]}


def test_where_there_is_no_base_the_action_says_so(runner: Runner):
    runner.git("init", "--quiet")
    runner.commit()
    assert "<--against=HEAD>" in runner.run(against="base", event={"BEFORE": "0" * 40})[1][0]
    assert "first push" in runner.said
    assert "<--against=HEAD>" in runner.run(against="base", event={"EVENT_NAME": "schedule"})[1][0]
    assert (
        "::notice title=wattslice gate::nothing was compared: the event schedule has no base" in runner.said
    )


def test_the_base_is_the_commit_before_a_push_or_where_a_branch_began(runner: Runner):
    runner.git("init", "--quiet")
    first = runner.commit()
    runner.git(
        "update-ref",
        "refs/remotes/origin/main",
        runner.git("commit-tree", "HEAD^{tree}", "-p", first, "-m", "x"),
    )
    second = runner.commit()
    runner.commit()
    assert f"<--against={second}>" in runner.run(against="base", event={"BEFORE": second})[1][0]
    assert f"<--against={first}>" in runner.run(against="base", event={"BASE_REF": "main"})[1][0]


@pytest.mark.parametrize(
    ("event", "missing"),
    [
        ({"BASE_REF": "main"}, "target branch main"),
        ({"BASE_REF": "apart"}, "common ancestor"),
        ({"BEFORE": "1" * 40}, "commit before"),
    ],
)
def test_a_base_that_was_not_fetched_is_no_finding(runner: Runner, event: dict[str, str], missing: str):
    runner.git("init", "--quiet")
    runner.commit()
    apart = runner.git("commit-tree", "HEAD^{tree}", "-m", "another root")
    runner.git("update-ref", "refs/remotes/origin/apart", apart)
    status, _ = runner.run(against="base", event=event)
    assert (status, runner.output()) == (2, ["status=2"])
    assert runner.said.startswith("::error title=wattslice gate::")
    assert missing in runner.said
    assert "fetch-depth: 0" in runner.said
    assert not (runner.folder / "temp/calls").exists()


def test_the_hook_looks_at_what_changed():
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert (hook["id"], hook["pass_filenames"]) == ("wattslice-gate", False)
    assert hook["args"] == ["--against", "HEAD", "."]


def test_the_hook_runs_for_all_that_the_gate_reads():
    (hook,) = yaml.safe_load(HOOKS.read_text())
    names = ["wattslice.toml", "pyproject.toml", "watts.baseline", "sub/watts.baseline", "a.cu", "b/c.C"]
    names += [
        f"x{suffix}" for suffix in (*SUFFIXES, ".cuh", ".hpp", ".hxx", ".inc", ".ipp", ".tcc", ".tpp", ".def")
    ]
    assert [name for name in names if not re.search(hook["files"], name)] == []
    assert [
        name for name in ("README.md", "a.py", "x.toml", "a.culprit") if re.search(hook["files"], name)
    ] == []
