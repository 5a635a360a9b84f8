"""``python -m wattslice_tools.rooflines GPU``: fits the energy roofline of a GPU to an intensity sweep.

Writes ``roofline.json`` and its card ``roofline.md`` into the folder of that GPU's models, where
`wattslice roofline` looks for it, and prints the card.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wattslice.config.gpu_choice import known_gpu
from wattslice.errors import WattsliceError
from wattslice_corpora.records import RecordError
from wattslice_models.gpu import load_gpu
from wattslice_models.learners import MissingPackageError
from wattslice_models.roofline_store import save_roofline
from wattslice_models.user_folder import user_models
from wattslice_tools.rooflines.card import roofline_card
from wattslice_tools.rooflines.fitting import train_roofline

CARD_NAME = "roofline.md"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 0 when all went well, 2 with a message when not."""
    parser = argparse.ArgumentParser(
        prog="python -m wattslice_tools.rooflines",
        description="Fits the energy roofline of a GPU to an intensity sweep.",
    )
    parser.add_argument("gpu", metavar="GPU", help="id of the catalogue, or a TOML file")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="measured.csv of a campaign; repeatable (default: the committed sweep)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="(default: the user's data folder)")
    options = parser.parse_args(arguments)
    try:
        gpu = load_gpu(known_gpu(options.gpu))
        result = train_roofline(gpu, tuple(options.data))
        folder: Path = options.out or user_models() / gpu.id
        written = save_roofline(folder, result.trained)
        card = roofline_card(result)
        (folder / CARD_NAME).write_text(card, encoding="utf-8")
    except (WattsliceError, RecordError, MissingPackageError, OSError) as error:
        print(f"wattslice_tools.rooflines: {error}", file=sys.stderr)
        return 2
    for entry in result.left_out:
        print(f"{entry.runs} runs left out ({entry.benchmark}): {entry.reason}", file=sys.stderr)
    print(f"{card}\n{len(result.trained.fits)} clocks fitted; {written} and {CARD_NAME}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
