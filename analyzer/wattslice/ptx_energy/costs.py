"""The instructions of kernels from PTX, how often a thread executes each, and what that costs."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice.config.config import Config
from wattslice.config.sources import is_ptx
from wattslice.counting.count import NotCountedError, count
from wattslice.counting.profile import ExecutionProfile
from wattslice.errors import WattsliceError
from wattslice.ir import Diagnostic, Kernel, Program
from wattslice.ir.walking import deep_recursion
from wattslice.launches.launch import Assumption, KernelLaunch
from wattslice.launches.overrides import check_overrides, known_names
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import read_program
from wattslice_models.gpu import load_gpu
from wattslice_models.instruction_energy import (
    ExecutedInstruction,
    InstructionEnergies,
    LaunchEnergy,
    ThreadEnergy,
    launch_energy,
    thread_energy,
)


class KernelCost(Struct, frozen=True):
    """What one thread of a launch executes, and its energy; `thread` None when it cannot be told (`reason`).

    `launch`: of all threads, known only of energies measured on a full board.
    `assumptions`: what the number of executions rests on.
    """

    launched: KernelLaunch
    thread: ThreadEnergy | None
    launch: LaunchEnergy | None
    reason: str
    assumptions: tuple[Assumption, ...]


class CostedFile(Struct, frozen=True):
    """The kernels of a PTX file in its order, and what has to be said about it."""

    kernels: tuple[KernelCost, ...]
    diagnostics: tuple[Diagnostic, ...]


def check_ptx(path: Path) -> None:
    """Raises `WattsliceError` for a file that holds no PTX; the remedy tells how to make some of CUDA."""
    if path.is_dir():
        raise WattsliceError("is a folder", path=path, remedy="give a .ptx file")
    if path.suffix.lower() in (".cu", ".cuh", ".c", ".cpp", ".h"):
        ptx = path.with_suffix(".ptx").name
        raise WattsliceError(
            "is source text, and energies are known per PTX instruction",
            path=path,
            remedy=f"make PTX of it: nvcc -ptx -lineinfo -o {ptx} {path.name}",
        )
    if not is_ptx(path):
        raise WattsliceError("is no .ptx file", path=path, remedy="nvcc -ptx -lineinfo makes one of CUDA")
    if path.is_file() and not path.read_bytes().strip():
        raise WattsliceError("is empty", path=path, remedy="nvcc -ptx -lineinfo makes PTX of CUDA")


def file_costs(
    path: Path, config: Config, energies: InstructionEnergies, *, stand_ins: bool = False
) -> CostedFile:
    """Every kernel of a PTX file. Raises `WattsliceError` when it cannot be read or holds no kernel."""
    program = read_program(path, config)
    if not program.kernels:
        raise WattsliceError(_no_kernel(program), path=path, remedy="a kernel is a .entry function")
    check_overrides(config.facts.typed_overrides, [known_names(program)])
    gpu = load_gpu(config.gpu.gpu_id)
    launches = resolve_launches(program, config.facts.overrides, gpu)
    return CostedFile(
        tuple(_launch_cost(launch, energies, stand_ins) for launch in launches), program.diagnostics
    )


def _no_kernel(program: Program) -> str:
    told = "; ".join(entry.message for entry in program.diagnostics[:2])
    return f"no kernel in this file: {told}" if told else "no kernel in this file"


def _launch_cost(launch: KernelLaunch, energies: InstructionEnergies, stand_ins: bool) -> KernelCost:
    kernel, thread, assumed = launch.kernel, None, launch.assumptions
    profile, reason = _counted(launch)
    if profile is not None:
        thread = thread_energy(executed_instructions(kernel, profile), energies, stand_ins=stand_ins)
        assumed = (*assumed, *profile.assumptions)
    threads = launch.blocks * launch.threads_per_block
    return KernelCost(
        launch,
        thread,
        None if thread is None else launch_energy(thread, threads, energies),
        reason,
        tuple(dict.fromkeys(assumed)),
    )


def _counted(launch: KernelLaunch) -> tuple[ExecutionProfile | None, str]:
    """How often everything runs, or why that is unknown."""
    if not (launch.kernel.body_is_complete or launch.kernel.body.statements):
        return None, "nothing of the body could be read"
    try:
        with deep_recursion():
            return count(launch), ""
    except NotCountedError as error:
        return None, str(error)
    except RecursionError:
        return None, "statements nest too deeply"
    except Exception as error:  # a defect of ours must not lose the other kernels
        return None, f"internal error: {type(error).__name__}: {error}"


def executed_instructions(kernel: Kernel, profile: ExecutionProfile) -> tuple[ExecutedInstruction, ...]:
    """Every instruction of a kernel from PTX with its mean executions by a launched thread."""
    return tuple(
        ExecutedInstruction(instruction.opcode, profile.thread_counts[instruction.region])
        for instruction in kernel.machine_instructions
    )
