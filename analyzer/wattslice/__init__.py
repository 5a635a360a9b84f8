"""wattslice: static power analysis of CUDA and C kernels.

    import wattslice
    analysis = wattslice.analyze("a.cu", gpu="v100")

docs/library.md shows more. Nothing is loaded before it is used.
"""

from wattslice.version import __version__ as __version__

TYPE_CHECKING = False  # typing itself would cost more than the whole of this file
if TYPE_CHECKING:
    from wattslice.api import *  # noqa: F403

_NAMES = """
    About Advice Analysis ArmAnalysis Assumption Basis BranchClass Diagnostic EnergyRoofline Finding
    FrontendError Held InstructionCount KernelAnalysis KernelSource Launch LaunchSource LineHeat LoopTrips
    MemorySpace MethodWatts OperationCounts Power Precision ProbabilitySource ProfileUse ProgramArguments
    Resources Roofline RooflinePoint RuleChoice RuleChoices Severity SliceAnalysis SourceText SubSlice
    Suppression TimeRoofline Wanted WattsliceError Work analyze analyze_text findings_of to_json
"""
_OFFERED = frozenset(_NAMES.split())  # those of the module api, which a look at this one must not load


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module("wattslice.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*_OFFERED, "__version__"))
