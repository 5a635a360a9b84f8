"""All learners by name: what each needs of the data, and which packages it needs to learn.

Modules are imported when asked for: predicting needs neither scipy nor torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from msgspec import Struct

from wattslice_models.contract import Example, Learner, ModelKind, PowerModel

GENERAL = "general"
"""Stands for a GPU id where a model was trained on several GPUs."""


class MissingPackageError(ImportError):
    """`what` needs a `package` that only training needs and that is not installed; says how to install it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}: pip install '.[train]' in the checkout")
        self.package = package


class Needs(Struct, frozen=True):
    """What an example must have to be learnt from. `bytes_followed`: addresses that our analysis followed."""

    bytes_followed: bool = False
    slices: bool = False

    def lacking(self, example: Example) -> str:
        """Why nothing can be learnt from an example, else empty."""
        if self.bytes_followed and example.doubt:
            return example.doubt
        if self.slices and not any(part.arithmetic_density is not None for part in example.subject.slices):
            return "no slice of it touches memory"
        return ""


class LearnerEntry(Struct, frozen=True):
    """One way to learn. `several_gpus`: whether one model can learn from, and speak for, several GPUs."""

    name: str
    title: str
    kind: ModelKind
    learner: str
    model: str
    needs: Needs
    several_gpus: bool = False
    arguments: tuple[tuple[str, bool], ...] = ()


_SLICES = Needs(slices=True)
_WAVELET = "wattslice_models.wavelet_fit:WaveletLearner", "wattslice_models.wavelet_network:WaveletModel"
ENTRIES = (
    LearnerEntry(
        "mean",
        "constant mean",
        ModelKind.MEAN,
        "wattslice_models.mean:MeanLearner",
        "wattslice_models.mean:MeanModel",
        Needs(),
    ),
    LearnerEntry(
        "mean-by-clock",
        "mean at each clock",
        ModelKind.MEAN,
        "wattslice_models.mean:ClockMeanLearner",
        "wattslice_models.mean:ClockMeanModel",
        Needs(),
    ),
    LearnerEntry(
        "regression",
        "regression",
        ModelKind.REGRESSION,
        "wattslice_models.regression_fit:RegressionLearner",
        "wattslice_models.trained_regression:TrainedRegression",
        _SLICES,
    ),
    LearnerEntry("wavelet", "wavelet network", ModelKind.WAVELET, *_WAVELET, _SLICES, several_gpus=True),
    LearnerEntry(
        "wavelet-published",
        "wavelet network as published",
        ModelKind.WAVELET,
        *_WAVELET,
        _SLICES,
        arguments=(("numbered_gpus", True),),
    ),
    LearnerEntry(
        "energy",
        "energy model",
        ModelKind.ENERGY,
        "wattslice_models.joint_learner:EnergyLearner",
        "wattslice_models.energy_power:EnergyPowerModel",
        Needs(bytes_followed=True),
    ),
)
NAMES = tuple(entry.name for entry in ENTRIES)
MEANS = tuple(entry.name for entry in ENTRIES if entry.kind is ModelKind.MEAN)
"""What knows nothing of a kernel."""


def entry(name: str) -> LearnerEntry:
    """The entry of that name. Raises ``KeyError``."""
    return {known.name: known for known in ENTRIES}[name]


def learner(known: LearnerEntry) -> Learner:
    """A learner ready to fit. Raises `MissingPackageError` when a package it learns with is missing."""
    try:
        made = _named(known.learner)
    except ModuleNotFoundError as error:
        raise MissingPackageError(f"training the {known.title}", package_of(error)) from None
    return cast("Learner", made(**dict(known.arguments)))


def package_of(error: ModuleNotFoundError) -> str:
    """The package that an import did not find."""
    return (error.name or "").partition(".")[0]


def model_type(known: LearnerEntry) -> type[PowerModel]:
    """The class of the models that it learns."""
    return cast("type[PowerModel]", _named(known.model))


def _named(place: str) -> Any:  # noqa: ANN401  (a class, by its name)
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
