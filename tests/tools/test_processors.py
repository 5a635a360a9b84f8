"""Whether coefficients are the same bytes on several kinds of processors: what is told of two files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wattslice_tools.accuracy import processors
from wattslice_tools.accuracy.processors import BEGIN, END, KINDS, difference, main


def written(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": [1.0, 2]}, {"a": [1.0, 2]}, "same bytes"),
        ({"a": [100.0, 2]}, {"a": [101.0, 2]}, "coefficients 1e-02"),
        ({"a": 8.0, "residuals": [[4.0]]}, {"a": 8.0, "residuals": [[5.0]]}, "held-out runs 2e-01"),
        ({"a": 1e-16}, {"a": 3e-16}, "last digits of zeros"),
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, "another form"),
        ({"a": "x"}, {"a": "y"}, "other texts"),
    ],
)
def test_a_difference_in_words(tmp_path: Path, one: object, other: object, told: str):
    assert difference(written(tmp_path, "1.json", one), written(tmp_path, "2.json", other)) == told


def test_the_page_gets_the_table_and_the_status_is_of_the_joint_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept, page = tmp_path / "kept", tmp_path / "page.md"
    asked: list[tuple[str, tuple[str, ...], bool]] = []

    def fitted(kind: str, folder: Path, gpu_ids: tuple[str, ...], *, joint: bool) -> None:
        asked.append((kind, gpu_ids, joint))
        if not joint:  # it lies there already
            return
        written(folder, "joint/model.json", {"a": 1.0})
        written(folder, "v100_pcie/regression.json", {"a": 2.0 if kind == "SSE" else 1.0})

    monkeypatch.setattr(processors, "fitted", fitted)
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    words = [str(page), "--gpu", "v100_pcie", "--folder", str(kept)]
    assert main(words) == 0
    assert asked == [(kind, ("v100_pcie",), True) for kind in KINDS]
    text = page.read_text()
    assert "| `joint/model.json` | same bytes | same bytes |" in text
    assert "| `v100_pcie/regression.json` | same bytes | coefficients 5e-01 |" in text
    written(kept / "AVX2", "joint/model.json", {"a": 1.5})
    asked.clear()
    assert main(words) == 1
    assert asked == [(kind, (), False) for kind in KINDS]


def test_a_kind_hides_instructions_from_numpy():
    """Where the processor has them; the answers of `exp` may then end in another digit."""
    code = (
        "from numpy._core._multiarray_umath import __cpu_features__ as f; "
        "print(int(f['X86_V4']), int(f['X86_V3']))"
    )
    for kind, most in (("AVX2", (0, 1)), ("SSE", (0, 0))):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**KINDS[kind]}, capture_output=True, text=True
        )
        found = tuple(map(int, done.stdout.split()))
        assert done.returncode == 0, done.stderr
        assert all(has <= may for has, may in zip(found, most, strict=True))
