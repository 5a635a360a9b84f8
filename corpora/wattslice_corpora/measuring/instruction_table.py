"""What stays of measured instructions: ``instructions.csv`` and ``card.toml``."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from msgspec.structs import replace

from wattslice_corpora.measuring.bench import Timing
from wattslice_corpora.measuring.card import protocol
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.instruction_plan import Variant
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.records import MeasuredInstruction, write_table, write_text


def write_instruction_table(
    folder: Path, board: Board, timing: Timing, rows: tuple[MeasuredInstruction, ...]
) -> Path:
    """``instructions.csv`` anew, with the board in every row."""
    comments = (
        f"measured on {board.name} {board.uuid}, driver {board.driver}, CUDA {board.cuda}",
        protocol(timing),
        "energy_j = (with - without) / instructions, whole board; docs/instruction-energies.md says more",
    )
    table = folder / "instructions.csv"
    named = tuple(replace(row, board=board.name, driver=board.driver) for row in rows)
    write_table(table, comments, MeasuredInstruction, named)
    return table


def write_instruction_card(folder: Path, board: Board, chip: Chip, timing: Timing) -> None:
    """``card.toml``: where the table comes from."""
    limit = "unknown" if board.power_limit_w is None else f"{board.power_limit_w:g} W"
    launches = "; ".join(
        f"{variant.value}: {variant.blocks(chip.sm_count)} blocks of {variant.threads_in_block} threads, "
        f"{variant.iterations} iterations"
        for variant in Variant
    )
    facts = (
        ("board", f"{board.name}, power limit {limit}"),
        ("chip", f"{chip.architecture}, {chip.sm_count} SMs"),
        ("driver", f"{board.driver}, CUDA {board.cuda}"),
        ("measured_in", date.today().isoformat()),
        ("launches", launches),
        ("protocol", protocol(timing)),
        ("power_definition", "whole board, by the method that a row names; idle power included"),
        ("licence", "not chosen yet: say here what others may do with these rows"),
    )
    lines = "".join(f"{key} = {json.dumps(text, ensure_ascii=False)}\n" for key, text in facts)
    write_text(folder / "card.toml", f"# Where instructions.csv beside this card comes from.\n\n{lines}")
