"""The data card that goes with the rows of a campaign (see `wattslice_corpora.records.cards`)."""

from __future__ import annotations

import json
from pathlib import Path

from wattslice_corpora.measuring.bench import Timing
from wattslice_corpora.measuring.plan import KERNELS, REPEATS, SLICES
from wattslice_corpora.measuring.sensor import Board

_USES = (
    (SLICES, "training", "synthetic slices of wattslice's generator"),
    (KERNELS, "test", "kernels of wattslice's corpus at two or three sizes"),
    (REPEATS, "test", "some of both measured again, to see how well the board repeats itself"),
)


def protocol(timing: Timing) -> str:
    """How a configuration is measured, in a sentence."""
    return (
        f"idle for {timing.idle_s:g} s, then one launch repeated without a gap (CUDA graphs): "
        f"{timing.warmup_s:g} s warm-up dropped, {timing.window_s:g} s measured; sensors read about every "
        f"{timing.period_s * 1e3:g} ms in a thread of its own, not in step with the board; clocks and limits "
        "as the board chose them"
    )


def write_card(folder: Path, board: Board, key: str, chip: str, timing: Timing) -> None:
    """``card.toml`` in `folder`. `key`: the short name of the board in the data sets' keys."""
    (folder / "card.toml").write_text(card(board, key, chip, timing), encoding="utf-8")


def card(board: Board, key: str, chip: str, timing: Timing) -> str:
    """The card as TOML."""
    limit = "unknown" if board.power_limit_w is None else f"{board.power_limit_w:g} W"
    datasets = "\n".join(_dataset(f"{name}-{key}", use, what, timing) for name, use, what in _USES)
    return (
        f"# Where the runs of the table beside this card come from. An empty text is unknown.\n\n"
        f"board = {_quoted(f'{board.name}, power limit {limit}')}\n"
        f"chip = {_quoted(chip)}\n"
        f"driver = {_quoted(f'{board.driver}, CUDA {board.cuda}')}\n\n{datasets}"
    )


def _dataset(key: str, use: str, what: str, timing: Timing) -> str:
    return f"""[[dataset]]
key = {_quoted(key)}
use = {_quoted(use)}
timed = "kernel"
recipes = ""
repository = ""
path = ""
commit = ""
licence = "that of wattslice"
measured_by = "whoever ran `wattslice measure --campaign`"
measured_in = ""
protocol = {_quoted(f"{what}: {protocol(timing)}")}
power_definition = "slope of the energy counter over the plateau, valid only within 3 % of the samples' mean"
faults = []
"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML string
