import shutil

import pytest

from wattslice.profiling.probes.cuda_on_cpu.toolchain import Toolchain

from .compiled import checking_toolchain


@pytest.fixture(scope="session")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not on the PATH")
    return checking_toolchain(compiler, tmp_path_factory.mktemp("cuda_on_cpu"))
