"""One launch of one kernel, from geometry to watts: the stages of the pipeline in order."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import (
    Basis,
    BranchClass,
    KernelAnalysis,
    KernelSource,
    Launch,
    LineHeat,
    MethodWatts,
    Power,
    ProfileUse,
    Resources,
    Roofline,
    SliceAnalysis,
    Work,
)
from wattslice.branch_profile.profile import BranchProfile
from wattslice.config.config import Config
from wattslice.config.options import MethodChoice, ModelChoice
from wattslice.counting.count import NotCountedError, count
from wattslice.counting.profile import ExecutionProfile, SiteStatistics
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.quoting import Quoter
from wattslice.findings.rules import advise
from wattslice.ir import Diagnostic, Kernel, MemorySpace, Severity
from wattslice.ir.accesses import MemoryAccess
from wattslice.launches.data import data_of
from wattslice.launches.launch import Assumption, KernelLaunch
from wattslice.power.answer import PowerAnswer, worth_notes
from wattslice.power.attribution import Attribution, line_powers, region_powers
from wattslice.power.intervals import arm_analyses, with_swings
from wattslice.power.methods import Method, MethodAnswers, branch_density
from wattslice.power.paths import arms_of_data
from wattslice.power.slices import ProgramWatts, SliceWatts
from wattslice.power.variants import variants_of
from wattslice.roofline.kernels import make_roofline
from wattslice.roofline.machines import machines_of
from wattslice.slicing.features import SliceFeatures, slice_features
from wattslice.slicing.slices import slice_kernel
from wattslice.workload.launch_work import LaunchWork, Residency, launch_work, residency
from wattslice.workload.traffic import FEW_BYTES, Traffic, array_bytes, whole_array_bytes
from wattslice_models.access_power import access_power_factors
from wattslice_models.execution_time import Resource
from wattslice_models.gpu import Gpu
from wattslice_models.variant_residual import amounts_of


class LaunchResult(Struct, frozen=True):
    """The analysis of one launch and what has to be said about it."""

    kernel: KernelAnalysis
    diagnostics: tuple[Diagnostic, ...]


def analyze_launch(launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
    """Counts, slices, features, watts and heat of one launch on `gpu`."""
    kernel = launch.kernel
    launch = replace(launch, data=data_of(kernel, config.facts.data, launch.zeros))
    resident = residency(launch, gpu)
    facts = replace(
        bare_facts(launch, gpu),
        resources=Resources(
            resident.shared_bytes, resident.registers, resident.sm_saturation, resident.occupancy.occupancy
        ),
    )
    try:
        profile = count(launch, config.facts.branch_profile)
    except NotCountedError as error:
        text = f"power unknown: {error}"
        return LaunchResult(facts, (_diagnostic("PW015", Severity.WARNING, kernel, text),))
    work = launch_work(launch, resident, profile)
    slices = slice_kernel(kernel)
    features = slice_features(slices, profile, access_power_factors(gpu), resident.sm_saturation)
    answers = MethodAnswers(
        launch,
        resident,
        slices,
        profile,
        work,
        features,
        lambda: profile if config.facts.branch_profile is None else count(launch),
        config,
        gpu,
        variants_of(kernel, facts.launch.data, gpu.id, quoter.texts, config.parse.defines)
        if config.prediction.variants
        else None,
    )
    branch_class = branch_density(slices, profile, config.prediction.dense_from).branch_class
    method = _method(config.prediction.method, branch_class, profile)
    expected = answers.by(Method.EXPECTED)
    attributed = answers.attributed(method)
    regions_w = region_powers(attributed.drawn, kernel.region_count)
    found, swung = with_swings(answers, method, regions_w)
    watts, power = found.watts, _power(found)
    hot_lines = _heat(attributed.drawn, quoter)
    analysis = replace(
        facts,
        work=Work(
            work.counts,
            work.instructions.per_thread,
            _bytes(features),
            () if work.workload is None else amounts_of(work.workload),
        ),
        power=power,
        time_s=expected.time_s,
        energy_j=None if power is None or expected.time_s is None else power.power_w * expected.time_s,
        limited_by=expected.limited_by,
        basis=Basis(
            found.model,
            method.value,
            branch_class,
            MethodWatts(*(answers.by(one).watts.power_w for one in Method)),
            _profile_use(config.facts.branch_profile, kernel),
            found.variants,
        ),
        slices=_slices(features, attributed.slices, watts.power_w),
        hot_lines=hot_lines,
        loops=profile.loops,
        arms=arm_analyses(kernel, profile, regions_w, _operations_w(watts), swung),
        assumptions=_assumptions(launch, profile, work.traffic),
        roofline=_roofline(work, gpu, config, watts.power_w, expected.time_s),
        advice=advise(
            LaunchFacts(
                launch, resident, profile, work, answers.question(profile), expected, hot_lines, quoter
            )
        ),
    )
    told = _diagnostics(kernel, found, gpu, config.prediction.model)
    return LaunchResult(analysis, (*told, *_fitted(launch, resident), *_warm_l2(launch, work, analysis, gpu)))


def _power(found: PowerAnswer) -> Power | None:
    watts = found.watts
    if watts.power_w is None or watts.power_low_w is None or watts.power_high_w is None:
        return None
    ends = watts.power_low_w, watts.power_high_w
    return Power(watts.power_w, *ends, watts.static_w, found.may_hit_power_limit, watts.wanted)


def _fitted(launch: KernelLaunch, resident: Residency) -> tuple[Diagnostic, ...]:
    """A block that fits only with fewer registers than estimated."""
    if resident.registers == resident.estimated_registers:
        return ()
    text = (
        f"{resident.estimated_registers} registers a thread estimated, {resident.registers} taken: "
        f"a block of {launch.threads_per_block} threads would not fit"
    )
    return (_diagnostic("PW030", Severity.NOTE, launch.kernel, text),)


def _warm_l2(
    launch: KernelLaunch, work: LaunchWork, analysis: KernelAnalysis, gpu: Gpu
) -> tuple[Diagnostic, ...]:
    """Repeated launches whose data L2 may still hold are all counted as the first one is."""
    one = work.workload
    if one is None or analysis.limited_by != Resource.DRAM or (launch.times or 1) < 2:
        return ()
    moved_bytes = (one.dram_bytes or 0.0) * one.blocks * one.threads_per_block
    if moved_bytes > (gpu.l2_bytes or 0):
        return ()
    text = (
        f"each of {launch.times} launches is taken to find nothing in L2, which could hold the "
        f"{moved_bytes / 1e6:.3g} MB that one moves: right after each other they may be faster"
    )
    return (_diagnostic("PW030", Severity.NOTE, launch.kernel, text),)


def _roofline(
    work: LaunchWork, gpu: Gpu, config: Config, power_w: float | None, time_s: float | None
) -> Roofline | None:
    if work.workload is None:
        return None
    machines = machines_of(gpu, config.clocks)
    return make_roofline(work.workload, work.counts, gpu, machines, power_w, time_s)


def bare_facts(launch: KernelLaunch, gpu: Gpu) -> KernelAnalysis:
    """What is known of a launch before any stage looks at the kernel; everything else unknown."""
    kernel, span = launch.kernel, launch.kernel.span
    ptx_file = kernel.body.span.file if kernel.machine_instructions else ""
    names = kernel.qualified_name, kernel.mangled_name
    site = launch.source, launch.line, launch.file, launch.program_arguments, launch.times
    unknown = "" if launch.times is not None else launch.times_unknown
    data = ", ".join(entry.told for entry in launch.data)
    return KernelAnalysis(
        kernel.name,
        KernelSource(*names, span.file, span.line, span.end_line, ptx_file, kernel.fast_math),
        Launch(launch.grid, launch.block, *site, unknown, data),
        gpu.power_limit_w,
        assumptions=launch.assumptions,
    )


def _profile_use(profile: BranchProfile | None, kernel: Kernel) -> ProfileUse | None:
    if profile is None:
        return None
    from wattslice.branch_profile.binding import branches_known

    return ProfileUse(profile.name or "a profile", branches_known(profile, kernel), len(profile.data_sets))


_OWN: dict[MemorySpace, str] = {MemorySpace.CONSTANT: "word"}
"""What a lane may touch alone, where it is no sector."""


def _assumptions(launch: KernelLaunch, profile: ExecutionProfile, moved: Traffic) -> tuple[Assumption, ...]:
    own_file = launch.kernel.span.file
    gathers = (
        Assumption(
            "PW016",
            access.span.line,
            f"address in {access.root.name if access.root else 'memory'} depends on data: "
            f"each lane of a warp taken to {_at_random(launch, access, profile.sites[access.site])}",
            "",
            "" if access.span.file == own_file else access.span.file,
        )
        for access in moved.gathered
    )
    found = (*launch.assumptions, *profile.assumptions, *gathers)
    return tuple(sorted(dict.fromkeys(found), key=lambda entry: (entry.line, entry.rule)))


def _at_random(launch: KernelLaunch, access: MemoryAccess, statistics: SiteStatistics) -> str:
    size_bytes = array_bytes(launch, access, statistics)
    if size_bytes is not None and size_bytes < FEW_BYTES:
        return f"be anywhere in {size_bytes} bytes"
    found = f"touch a {_OWN.get(access.space, 'sector')} of its own"
    whole_bytes = whole_array_bytes(launch, access, statistics)
    if whole_bytes is not None or access.space is not MemorySpace.GLOBAL:
        which = f"its {size_bytes} bytes" if size_bytes == whole_bytes else f"{size_bytes} of its bytes"
        return found if size_bytes is None else f"{found}, anywhere in {which}"
    where = "" if size_bytes is None else f", anywhere in the {size_bytes} bytes that its index may name"
    return f"{found}{where}; the size of the array is unknown"


def _bytes(features: tuple[SliceFeatures, ...]) -> float | None:
    known = [part.bytes_accessed for part in features if part.bytes_accessed is not None]
    return sum(known) if len(known) == len(features) else None


def _slices(
    features: tuple[SliceFeatures, ...], watts: tuple[SliceWatts, ...], power_w: float | None
) -> tuple[SliceAnalysis, ...]:
    return tuple(
        SliceAnalysis(
            memory_space=part.memory_space,
            variables=part.variables,
            lines=part.lines,
            length=part.length,
            arithmetic_density=part.arithmetic_density,
            compute_ops=part.compute_ops,
            memory_ops_weighted=part.memory_ops_weighted,
            probability=part.probability,
            power_w=own.power_w,
            share_of_power=own.share_of_power,
            sub_slices=part.sub_slices,
            time_share=own.time_share,
            average_power_w=None
            if power_w is None or own.share_of_power is None
            else own.share_of_power * power_w,
        )
        for part, own in zip(features, watts, strict=True)
    )


def _method(choice: MethodChoice, branch_class: BranchClass, profile: ExecutionProfile) -> Method:
    if choice is not MethodChoice.AUTO:
        return Method(choice.value)
    if arms_of_data(profile):
        return Method.EXPECTED
    return Method.BDPM if branch_class is BranchClass.DENSE else Method.BSPM


def _operations_w(watts: ProgramWatts) -> float | None:
    """What the operations draw: the static power left aside."""
    return None if watts.power_w is None else watts.power_w - (watts.static_w or 0.0)


def _heat(drawn: Attribution, quoter: Quoter) -> tuple[LineHeat, ...]:
    """Watts of each line: its part of what the operations draw, the static power left aside."""
    operations_w = drawn.operations_w
    return tuple(
        LineHeat(one.file, one.line, one.power_w, one.power_w / operations_w, quoter.line(one.file, one.line))
        for one in line_powers(drawn)
    )


def _diagnostics(kernel: Kernel, found: PowerAnswer, gpu: Gpu, asked: ModelChoice) -> tuple[Diagnostic, ...]:
    if found.watts.power_w is None:
        text = f"power unknown: {found.watts.reason}"
        return (_diagnostic(found.rule, Severity.WARNING, kernel, text),)
    return (
        *(
            Diagnostic("PW030", Severity.NOTE, "", 0, note)
            for note in (*found.board_notes, *worth_notes(gpu, asked, found.model))
        ),
        *(_diagnostic("PW030", Severity.NOTE, kernel, note) for note in found.watts.told),
        *(_diagnostic("PW030", Severity.WARNING, kernel, doubt) for doubt in found.watts.doubts),
    )


def _diagnostic(rule: str, severity: Severity, kernel: Kernel, text: str) -> Diagnostic:
    return Diagnostic(rule, severity, kernel.span.file, kernel.span.line, f"{kernel.name}: {text}")
