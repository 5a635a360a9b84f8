"""`wattslice train --model roofline`: a fit of its own, no candidate for what predicts kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from wattslice.commands.common import message, write_result
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.training.roofline_training import RooflineResult
    from wattslice_models.gpu import Gpu

CARD_NAME = "roofline.md"


def fit_and_write(gpu: Gpu, files: tuple[Path, ...], folder: Path) -> None:
    """Fit, write ``roofline.json`` and its card into `folder`, and say what was found.

    Raises as `train_roofline` does.
    """
    from wattslice.training.roofline_card import roofline_card
    from wattslice.training.roofline_training import train_roofline
    from wattslice_models.roofline_store import save_roofline

    try:
        result = train_roofline(gpu, files)
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else None
        what = f"cannot be read: {error.strerror or error}"
        raise WattsliceError(what, path=path, remedy="check --data") from None
    written = save_roofline(folder, result.trained)
    (folder / CARD_NAME).write_text(roofline_card(result), encoding="utf-8")
    for entry in result.left_out:
        message(f"{entry.runs} runs left out ({entry.benchmark}): {entry.reason}")
    write_result(lambda file: _report(result, written, file), None)


def _report(result: RooflineResult, written: Path, file: TextIO) -> None:
    from rich.table import Table
    from rich.text import Text

    from wattslice.report.terminal import make_console, print_stripped
    from wattslice.training.roofline_card import clock_text, estimates, roofs

    one = result.trained.reference
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(clock_text(one))
    table.add_column("")
    for heading in ("as Choi et al. fit", "p", "relative errors", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for line, other in zip(estimates(one.fit), estimates(one.relative_fit), strict=True):
        table.add_row(
            line.symbol, line.meaning, line.value, line.p_value, other.value, other.p_value, line.unit
        )
    achieved = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    achieved.add_column("roof")
    for heading in ("best of the sweep", "catalogue", "unit"):
        achieved.add_column(heading, justify="left" if heading == "unit" else "right", no_wrap=True)
    for roof in roofs(one, result.gpu):
        catalogue = "unknown" if roof.catalogue is None else f"{roof.catalogue:.0f}"
        achieved.add_row(roof.name, roof.achieved_text, catalogue, roof.unit)
    quality = [
        Text(
            f"{name}: {fit.points} runs, R² {fit.r_squared:.4f}; energies within {fit.mean_error:.1%} in the "
            f"mean, {fit.worst_error:.1%} at worst{'' if error is None else f', {error:.1%} held out'}"
        )
        for name, fit, error in (
            ("as Choi et al. fit", one.fit, one.held_out_error),
            ("relative errors", one.relative_fit, one.relative_held_out_error),
        )
    ]
    doubts = [Text(f"doubt: {doubt}") for doubt in one.fit.doubts]
    caveats = [Text(f"caveat: {caveat}") for caveat in result.trained.caveats]
    clocks = f"{len(result.trained.fits)} clocks fitted; {written} and {CARD_NAME}"
    console = make_console(file)
    print_stripped(console, table, Text(), achieved, Text(), *quality, *doubts, *caveats, Text(clocks))
