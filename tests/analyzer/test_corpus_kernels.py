"""What holds for every kernel of the corpus, each of which is read and counted once."""

import pytest

from wattslice.counting.count import count
from wattslice.counting.profile import total_counts
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, LaunchSource
from wattslice.launches.resolver import resolve_launches
from wattslice.slicing.features import slice_features
from wattslice.slicing.slices import dependence_graph, slice_kernel
from wattslice.workload.instructions import lower_instructions
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_models.gpu import load_gpu

from .source_text import FACTORS

LONG = ("string_match", "fft_radix2", "h264_intra", "gemm_registers", "lu", "aes128", "edit_distance")


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(own, id=own.name, marks=[pytest.mark.slow] if number % 3 or own.name in LONG else [])
        for number, own in enumerate(load_manifest())
    ],
)
def test_slices_are_a_partition_with_the_counts_of_the_kernel_which_lowers(own: CorpusKernel):
    program = read_cuda(own.file)
    for kernel in program.kernels:
        indices = [statement.index for part in slice_kernel(kernel) for statement in part.statements]
        assert sorted(indices) == list(range(len(dependence_graph(kernel).statements)))
    launches = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert {launch.source for launch in launches} == {LaunchSource.HOST_CODE}
    # Of the launches that a loop makes with different grids, the analyzer and the manifest name a middle one.
    found = {
        (launch.kernel.name, launch.grid, launch.block, launch.dynamic_shared_bytes) for launch in launches
    }
    listed = [(launch.kernel, launch.grid, launch.block, launch.shared_bytes) for launch in own.launches]
    assert sorted(listed) == sorted(found)
    for launch in launches:
        profile = count(launch)
        features = slice_features(slice_kernel(launch.kernel), profile, FACTORS, 1.0)
        summed = [sum(column) for column in zip(*(one.counts.values() for one in features), strict=True)]
        assert summed == pytest.approx(list(total_counts(launch.kernel, profile).values()))
        mix = lower_instructions(launch.kernel, profile)
        assert mix.total > 0
        assert all(one.number > 0 for one in mix.per_thread)
