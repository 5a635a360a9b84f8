"""Runs every program of the corpus at its small size on a CPU; its `main` compares with a reference."""

import pytest

from wattslice_corpora.manifest import CorpusKernel, load_manifest

from .cuda_on_cpu.build import Toolchain, run


@pytest.mark.parametrize("program", load_manifest(), ids=lambda program: program.name)
def test_the_small_run_agrees_with_the_reference(program: CorpusKernel, toolchain: Toolchain):
    executable = toolchain.compile(program.file)
    # A missing barrier shows in one of the two orders in which the threads of a block take turns.
    for order in ("ascending", "descending"):
        status, output = run(executable, program.runs[0].arguments, order)
        assert status == 0, f"{order}: {output}"
