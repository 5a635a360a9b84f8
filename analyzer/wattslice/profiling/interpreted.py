"""Branch profiles from the embedded interpreter: a kernel, its data sets, and what they count."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.branch_profile.making import arm_counts
from wattslice.branch_profile.profile import ArmCount, DataSetCounts
from wattslice.config.config import Config
from wattslice.documents import did_you_mean
from wattslice.errors import WattsliceError
from wattslice.ir import Program
from wattslice.ir.walking import deep_recursion
from wattslice.launches.launch import KernelLaunch, LaunchSource
from wattslice.launches.overrides import names_kernel
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import followed, neighbours_of, read_program
from wattslice.profiling.data_sets.arguments import MIB, prepare
from wattslice.profiling.data_sets.spec import DataSetSpec, Shape, Spec, shape_of
from wattslice.profiling.interpreter.launch import Allowance, Execution, Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret
from wattslice_models.gpu import load_gpu

MOST_THREADS = 1 << 24
"""Threads of a launch that is interpreted: more take minutes, and say no more about branches."""

HARDLY = 0.01
"""A share of the threads below which a branch is hardly met."""

_NO_KERNEL = "`wattslice analyze` on it says what may have hidden one"


class DataSetRun(Struct, frozen=True):
    """One data set run on one kernel. `note` is for the user's eyes, or empty."""

    kernel: str
    data_set: str
    shape: Shape
    execution: Execution
    time_s: float
    arms: tuple[ArmCount, ...]
    note: str = ""

    @property
    def threads(self) -> int:
        """Threads of the launch."""
        return math.prod((*self.shape.grid, *self.shape.block))


class KnownLaunch(Struct, frozen=True):
    """What the host code says of the launches of a kernel, with what it leaves open as None.

    `is_certain`: all of them have this grid and block, read from the host code without assuming anything.
    """

    launch: KernelLaunch
    is_certain: bool


def known_launches(path: Path, config: Config) -> tuple[Program, tuple[KnownLaunch, ...]]:
    """The program in a file, and one entry for each of its kernels. Raises `FrontendError`."""
    gpu = load_gpu(config.gpu.gpu_id)
    around = neighbours_of(path, config)
    program, launches = followed(
        lambda wanted: read_program(path, config, wanted=wanted),
        lambda program: resolve_launches(program, config.facts.overrides, gpu, around),
    )
    own = ([launch for launch in launches if launch.kernel is kernel] for kernel in program.kernels)
    return program, tuple(_known(found) for found in own if found)


def _known(launches: list[KernelLaunch]) -> KnownLaunch:
    first = launches[0]
    certain = all(
        (launch.grid, launch.block) == (first.grid, first.block)
        and launch.source is not LaunchSource.ASSUMED
        and not launch.assumed_variables
        for launch in launches
    )
    arguments = tuple(
        values[0] if not first.assumed_variables and all(value == values[0] for value in values) else None
        for values in zip(*(launch.arguments for launch in launches), strict=True)
    )
    return KnownLaunch(replace(first, arguments=arguments), certain)


def choose_kernel(
    wanted: str | None, known: tuple[KnownLaunch, ...], path: Path, remedy: str = "--kernel NAME"
) -> KnownLaunch:
    """The kernel of that name; without a name the only one. Raises `WattsliceError` listing what there is."""
    names = [entry.launch.kernel.qualified_name for entry in known]
    if wanted is None:
        if len(known) == 1:
            return known[0]
        text = f"{len(known)} kernels: {', '.join(names)}" if known else "no kernel in this file"
        raise WattsliceError(text, path=path, remedy=f"choose one with {remedy}" if known else _NO_KERNEL)
    found = [entry for entry in known if names_kernel(wanted, entry.launch.kernel)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(entry.launch.kernel.qualified_name for entry in found)
        raise WattsliceError(f"{wanted!r} may be each of {several}", path=path, remedy="name one of them")
    spellings = dict.fromkeys((*names, *(entry.launch.kernel.name for entry in known)))
    hint = did_you_mean(wanted, spellings, f"it has {', '.join(names) or 'none'}")
    raise WattsliceError(f"no kernel {wanted!r} in this file", path=path, remedy=hint)


def run_data_sets(
    path: Path,
    config: Config,
    spec: Spec,
    kernel: str | None,
    allowance: Allowance,
    tell: Callable[[str, str], None] = lambda kernel, data_set: None,
) -> Iterator[DataSetRun]:
    """Interprets the kernels of a file on the data sets of `spec`, one after the other.

    `kernel` takes the data sets of that kernel, and those that name none. `allowance`: of each data set.
    `tell` hears the kernel and the data set before each. Raises `WattsliceError`: of the spec
    (`WattsliceError`), of the kernel (`InterpreterError`), or when there is nothing to run.
    """
    program, known = known_launches(path, config)
    chosen = _chosen(spec, known, kernel, path)
    if not chosen:
        raise WattsliceError(f"no data set of kernel {kernel!r}", path=spec.path)
    for data, entry in chosen:
        tell(entry.launch.kernel.name, data.name)
        yield _run(program, entry, spec, data, allowance)


def _chosen(
    spec: Spec, known: tuple[KnownLaunch, ...], kernel: str | None, path: Path
) -> list[tuple[DataSetSpec, KnownLaunch]]:
    wanted = None if kernel is None else choose_kernel(kernel, known, path)
    found: list[tuple[DataSetSpec, KnownLaunch]] = []
    for data in spec.data:
        if data.kernel is None:
            remedy = '--kernel NAME, or kernel = "NAME" in each [[data]]'
            found.append((data, wanted or choose_kernel(None, known, path, remedy)))
        else:
            entry = choose_kernel(data.kernel, known, path)
            if wanted is None or entry is wanted:
                found.append((data, entry))
    return found


def _run(
    program: Program, known: KnownLaunch, spec: Spec, data: DataSetSpec, allowance: Allowance
) -> DataSetRun:
    kernel = known.launch.kernel
    shape = shape_of(spec, data, known.launch, is_certain=known.is_certain)
    threads = math.prod((*shape.grid, *shape.block))
    if threads > MOST_THREADS:
        raise WattsliceError(
            f"data set {data.name!r} of {kernel.name}: {threads} threads are too many to interpret",
            path=spec.path,
            remedy=f"at most {MOST_THREADS}: give a smaller grid, and data to match",
        )
    memory = DeviceMemory()
    prepared = prepare(spec, data, known.launch, program, memory, allowance.max_bytes // MIB)
    launch = Launch(
        kernel,
        shape.grid,
        shape.block,
        shape.shared_bytes,
        prepared.arguments,
        prepared.globals,
        prepared.textures,
    )
    begin = time.perf_counter()
    try:
        with deep_recursion():
            execution = interpret(launch, memory, allowance)
    except WattsliceError as error:
        message = f"{error.message} [data set {data.name!r} of {kernel.name}]"
        raise WattsliceError(message, path=error.path, line=error.line, remedy=error.remedy) from error
    return DataSetRun(
        kernel=kernel.qualified_name,
        data_set=data.name,
        shape=shape,
        execution=execution,
        time_s=time.perf_counter() - begin,
        arms=arm_counts(kernel, execution.thread_counts, execution.warp_counts),
        note=""
        if kernel.body_is_complete
        else f"{kernel.name}: parts of it could not be read (`wattslice analyze` says which)",
    )


def hardly_met(runs: tuple[DataSetRun, ...]) -> Iterator[str]:
    """A note for each kernel whose data let hardly any thread come to the branches behind the first ones."""
    for kernel in dict.fromkeys(run.kernel for run in runs):
        own = [run for run in runs if run.kernel == kernel]
        threads = sum(run.threads for run in own)
        visits: Counter[tuple[str, int, int, str]] = Counter()
        for arm in (arm for run in own for arm in run.arms):
            visits[arm.file, arm.line, arm.column, arm.arm] += (
                arm.visits if arm.entries is None else arm.entries
            )
        inner = [count for count in visits.values() if count < threads]
        if inner and max(inner) < HARDLY * threads:
            yield (
                f"{kernel}: of {threads} threads at most {max(inner)} came to the branches that not all "
                "of them meet; do sizes and numbers of the spec cover what the launch touches?"
            )


def counted_by(runs: tuple[DataSetRun, ...]) -> tuple[DataSetCounts, ...]:
    """What each data set counted; those of one name, of different kernels, are one."""
    arms: dict[str, tuple[ArmCount, ...]] = {}
    for run in runs:
        arms[run.data_set] = (*arms.get(run.data_set, ()), *run.arms)
    return tuple(DataSetCounts(name, own) for name, own in arms.items())
