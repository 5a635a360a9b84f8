"""The data specs of the corpus: every branch is met, and what a profile says is what was executed."""

import pytest
from msgspec.structs import replace

from wattslice.branch_profile.binding import bind
from wattslice.branch_profile.making import branches, make_profile
from wattslice.branch_profile.profile import Making
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir.walking import evaluations
from wattslice.profiling.data_sets.spec import read_spec
from wattslice.profiling.interpreted import counted_by, known_launches, run_data_sets
from wattslice.profiling.interpreter.errors import MAX_STEPS
from wattslice.profiling.interpreter.launch import Allowance
from wattslice.profiling.probes.emit import emit_probes
from wattslice_corpora.manifest import CorpusKernel, load_manifest

PROGRAMS = [program for program in load_manifest() if program.data_spec is not None]
ALLOWANCE = Allowance(MAX_STEPS, 64 << 20)


def runs_of(program: CorpusKernel):
    assert program.data_spec is not None
    config = Config((program.file,), GpuChoice("v100"))
    return tuple(run_data_sets(program.file, config, read_spec(program.data_spec), None, ALLOWANCE))


def test_there_are_twenty():
    assert len(PROGRAMS) >= 20


each_program = pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=program.name, marks=[pytest.mark.slow] if number % 2 else [])
        for number, program in enumerate(PROGRAMS)
    ],
)


@pytest.mark.slow
@each_program
def test_all_kernels_run_and_all_branches_are_met(program):
    runs = runs_of(program)
    assert {run.kernel for run in runs} == set(program.kernels)
    profile = make_profile(counted_by(runs), Making.INTERPRETER, "")
    assert [(arm.line, arm.arm) for arm in profile.arms if arm.probability is None] == []


@each_program
def test_probes_and_interpreter_mean_the_same_branches(program):
    probed = {
        (kernel, probe.line, probe.column)
        for probe in emit_probes(program.file).probes
        for kernel in probe.kernels
    }
    interpreted = {
        (kernel.name, node.span.line, node.span.column)
        for kernel in read_cuda(program.file).kernels
        for node, _ in branches(kernel)
    }
    assert probed == interpreted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel", "arguments"),
    [
        ("bfs", "bfsTopology", {"n": 1000, "level": 3}),
        ("bfs", "bfsFrontier", {"length": 500, "level": 3}),
        ("histogram_privatised", "histogramShared", {"n": 5000}),
        ("mandelbrot", "mandelbrot", {"width": 60, "height": 60}),
        ("k_means", "assignPoints", {"n": 500}),
    ],
)
def test_counting_with_a_profile_is_what_was_executed(name, kernel, arguments):
    """Mean executions per thread, region by region, of the data set that the profile comes from.

    To 1 in 10 000: counting evaluates sampled blocks.
    """
    (program,) = (program for program in PROGRAMS if program.name == name)
    run = [run for run in runs_of(program) if run.kernel == kernel][-1]
    read, known = known_launches(program.file, Config((program.file,), GpuChoice("v100")))
    profile = bind(make_profile(counted_by((run,)), Making.INTERPRETER, ""), read, (program.file,)).profile
    (launch,) = (entry.launch for entry in known if entry.launch.kernel.name == kernel)
    values = tuple(arguments.get(parameter.name) for parameter in launch.kernel.parameters)
    shape = {"grid": run.shape.grid, "block": run.shape.block}
    counted = count(replace(launch, arguments=values, **shape), profile).thread_counts
    executed = run.execution.thread_counts
    for _, region in evaluations(launch.kernel):
        assert counted[region] == pytest.approx(executed[region] / run.threads, rel=1e-4, abs=1e-9)
