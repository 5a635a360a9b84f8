import shutil
import subprocess
from pathlib import Path

import pytest

from wattslice_corpora.manifest import load_manifest

NVCC = shutil.which("nvcc")
PROGRAMS = load_manifest()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvcc,
    pytest.mark.skipif(NVCC is None, reason="nvcc is not on the PATH"),
]


@pytest.mark.parametrize("family", sorted({program.family for program in PROGRAMS}))
def test_programs_compile_without_warnings(family: str, tmp_path: Path):
    assert NVCC is not None
    done = subprocess.run(
        [
            NVCC,
            "-std=c++17",
            "-gencode=arch=compute_80,code=[sm_80,sm_90]",
            "-Xcompiler=-Wall,-Wextra",
            "--threads=2",  # one call for a family: several times quicker than one for each program
            "-c",
            f"-odir={tmp_path}",
            *(str(program.file) for program in PROGRAMS if program.family == family),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
