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


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("family", sorted({program.family for program in PROGRAMS}))
def test_programs_compile_without_warnings(family: str, is_whole: bool, tmp_path: Path):
    """Every fourth as a whole; of the others the host's part, four times as long, is built by g++ and run."""
    assert NVCC is not None
    chosen = [
        str(program.file)
        for number, program in enumerate(PROGRAMS)
        if program.family == family and (number % 4 == 0) == is_whole
    ]
    done = subprocess.run(
        [
            NVCC,
            "-std=c++17",
            "-arch=sm_80",
            *(("-Xcompiler=-Wall,-Wextra", "-c") if is_whole else ("-cubin",)),
            "--threads=2",  # one call for a family: several times quicker than one for each program
            f"-odir={tmp_path}",
            *chosen,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
