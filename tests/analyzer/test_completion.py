"""What a shell completes of wattslice's words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wattslice.cli import main
from wattslice.commands.completion import completing
from wattslice.commands.table import COMMANDS
from wattslice_models.gpu import gpu_ids


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(*words: str) -> list[str]:
    *before, last = words
    return [item.value for item in completing("bash").get_completions(before, last)]


def test_commands_options_and_values():
    assert completed("ga") == ["gate"]
    assert completed("") == [name for name, *_ in COMMANDS]
    assert completed("gate", "--tol") == ["--tolerance"]
    assert completed("analyze", "--tol") == []
    assert completed("analyze", "--format", "s") == ["sarif"]
    assert completed("nonsense", "x") == []


@pytest.mark.parametrize("command", ["analyze", "train", "calibrate", "evaluate", "instructions"])
def test_gpus(command: str):
    assert completed(command, "--gpu", "h10") == [one for one in gpu_ids() if one.startswith("h10")]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_script_asks_wattslice(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    command = tmp_path / "wattslice"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom wattslice.cli import main\nsys.exit(main())\n")
    command.chmod(0o700)
    asked = (
        f"COMP_WORDS=(wattslice ga); COMP_CWORD=1; _wattslice_completion {command}; echo ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(
        ["bash", "-c", f"{script('bash', capsys)}\n{asked}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["gate"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(capsys: pytest.CaptureFixture[str], shell: str):
    assert f"_WATTSLICE_COMPLETE={shell}_complete" in script(shell, capsys)


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
