import fcntl
import os
import shutil
from pathlib import Path

import pytest

from wattslice_tools.cuda_on_cpu.toolchain import Toolchain

from .compiled import CHECKING, checking_toolchain, with_snapshots


@pytest.fixture(scope="session")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not on the PATH")
    own = tmp_path_factory.mktemp("programs") / "cuda_on_cpu"
    shutil.copytree(_built(compiler, tmp_path_factory.getbasetemp()), own)
    return Toolchain(compiler, own, CHECKING, with_snapshots)


def _built(compiler: str, base: Path) -> Path:
    """The folder that the first process of a run compiles for all."""
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cuda_on_cpu"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = folder.with_suffix(".part")
            made.mkdir(exist_ok=True)
            checking_toolchain(compiler, made)
            made.rename(folder)
    return folder
