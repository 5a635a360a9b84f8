"""The scripts that complete wattslice's words in a shell."""

import shutil
import subprocess

import pytest

from wattslice.cli import main
from wattslice.commands.table import COMMANDS
from wattslice_models.gpu import gpu_ids


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_options_and_values(capsys):
    text = script("bash", capsys)

    def completed(*words: str) -> list[str]:
        asked = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _wattslice"
        asked += '; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", f"{text}\n{asked}"], capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("wattslice", "ga") == ["gate"]
    assert completed("wattslice", "gate", "--tol") == ["--tolerance"]
    assert completed("wattslice", "analyze", "--tol") == []
    assert completed("wattslice", "analyze", "--gpu", "h10") == [
        one for one in gpu_ids() if one.startswith("h10")
    ]
    assert "sarif" in completed("wattslice", "analyze", "--format", "s")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_its_options_are_there(capsys, shell):
    text = script(shell, capsys)
    for name, *_ in COMMANDS:
        assert name in text
    assert "tolerance" in text
    assert "rtx_3090" in text
    if shell == "zsh":
        assert text.startswith("autoload -U +X bashcompinit")


def test_another_shell_is_refused(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
