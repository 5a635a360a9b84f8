"""The data card that goes with the rows of a campaign (see `wattslice_corpora.records.cards`)."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from wattslice_corpora.measuring.bench import Timing
from wattslice_corpora.measuring.plan import KERNELS, SLICES, SWEEP
from wattslice_corpora.measuring.power import Method
from wattslice_corpora.measuring.sensor import Board

Use = tuple[str, str, str]
"""What the key of a data set begins with, what its rows may serve, and what they are of."""

USES: tuple[Use, ...] = (
    (SLICES, "training", "synthetic slices of wattslice's generator"),
    (SWEEP, "training", "the intensity sweep of wattslice's generator, for the energy roofline"),
    (KERNELS, "test", "kernels of wattslice's corpus at two or three sizes"),
)
_CHECKED = "; valid only where the energy counter and the samples' mean agree within 3 %"
_DEFINITIONS = {
    None: f"slope of the energy counter over the plateau, on boards without one the samples' mean{_CHECKED}",
    Method.ENERGY_COUNTER: f"slope of the energy counter over the plateau{_CHECKED}",
    Method.MTSM: f"mean of the samples over the plateau{_CHECKED}",
    Method.SMA: f"plateau of the whole trace{_CHECKED}",
    Method.PAPI: f"one reading when the kernel ends{_CHECKED}",
}


def protocol(timing: Timing) -> str:
    """How a configuration is measured, in a sentence."""
    return (
        f"idle for {timing.idle_s:g} s, then one launch repeated without a gap (CUDA graphs): "
        f"{timing.warmup_s:g} s warm-up dropped, {timing.window_s:g} s measured; sensors read about every "
        f"{timing.period_s * 1e3:g} ms in a thread of its own, not in step with the board; clocks and limits "
        "as the board chose them"
    )


def write_card(
    folder: Path,
    board: Board,
    key: str,
    chip: str,
    timing: Timing,
    method: Method | None,
    uses: tuple[Use, ...] = USES,
) -> None:
    """``card.toml`` in `folder`. `key`: the short name of the board in the data sets' keys."""
    (folder / "card.toml").write_text(card(board, key, chip, timing, method, uses), encoding="utf-8")


def card(
    board: Board, key: str, chip: str, timing: Timing, method: Method | None, uses: tuple[Use, ...] = USES
) -> str:
    """The card as TOML."""
    limit = "unknown" if board.power_limit_w is None else f"{board.power_limit_w:g} W"
    datasets = "\n".join(_dataset(f"{name}-{key}", use, what, timing, method) for name, use, what in uses)
    return (
        f"# Where the runs of the table beside this card come from. An empty text is unknown.\n\n"
        f"board = {_quoted(f'{board.name}, power limit {limit}')}\n"
        f"chip = {_quoted(chip)}\n"
        f"driver = {_quoted(f'{board.driver}, CUDA {board.cuda}')}\n\n{datasets}"
    )


def _dataset(key: str, use: str, what: str, timing: Timing, method: Method | None) -> str:
    return f"""[[dataset]]
key = {_quoted(key)}
use = {_quoted(use)}
timed = "kernel"
core_clock = "free"
recipes = ""
repository = ""
path = ""
commit = ""
licence = "not chosen yet: say here what others may do with these rows"
measured_by = "not told yet: say here who ran `wattslice measure --campaign`"
measured_in = {_quoted(date.today().isoformat())}
protocol = {_quoted(f"{what}: {protocol(timing)}")}
power_definition = {_quoted(_DEFINITIONS[method])}
faults = []
"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML string
