import shutil
import subprocess
from pathlib import Path

import pytest

from wattslice_corpora.manifest import CorpusKernel, load_manifest

NVCC = shutil.which("nvcc")

pytestmark = [
    pytest.mark.nvcc,
    pytest.mark.skipif(NVCC is None, reason="nvcc is not on the PATH"),
]


@pytest.mark.parametrize("program", load_manifest(), ids=lambda program: program.name)
def test_program_compiles_without_warnings(program: CorpusKernel, tmp_path: Path):
    assert NVCC is not None
    done = subprocess.run(
        [
            NVCC,
            "-std=c++17",
            "-gencode=arch=compute_80,code=sm_80",
            "-gencode=arch=compute_90,code=sm_90",
            "-Xcompiler=-Wall,-Wextra",
            "-o",
            str(tmp_path / program.name),
            str(program.file),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
