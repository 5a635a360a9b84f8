"""``python -m wattslice_tools.campaign VERB``: what `tools/campaign` calls, also on a bare machine."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from types import FrameType

from wattslice_corpora.measuring.errors import MeasureError
from wattslice_tools.campaign.piece import BUDGET_S, MOST_FAILURES

_FOLDER = Path("campaign")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/campaign", description=__doc__, allow_abbrev=False)
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="of the campaign  [default: campaign]")
    verbs = parser.add_subparsers(dest="verb", required=True)
    plan = verbs.add_parser("plan", help="what the pieces will measure, with minutes; measures nothing")
    plan.add_argument("--sm-count", type=int, default=132, help="of a board never measured  [default: 132]")
    piece = verbs.add_parser("piece", help="measure for one piece")
    piece.add_argument("--budget", type=float, default=BUDGET_S, metavar="S", help="seconds  [default: 525]")
    piece.add_argument("--device", type=int, default=0)
    piece.add_argument("--nvcc-flags", default="")
    piece.add_argument("--each", type=int, metavar="N", help="only N of every section: to try it out")
    piece.add_argument(
        "--failures",
        type=int,
        default=MOST_FAILURES,
        metavar="N",
        help="programs in a row that end a section when none of them runs  [default: 8]",
    )
    merge = verbs.add_parser("merge", help="put what came home into the folder")
    merge.add_argument("packets", type=Path, nargs="+")
    verbs.add_parser("judge", help="every row anew from its trace, when the rules have changed")
    report = verbs.add_parser("report", help="what was measured, as Markdown")
    report.add_argument("--page", type=Path, help="write it into this document")
    build = verbs.add_parser("build", help="compile every program of the plan: a check before the day")
    build.add_argument("--architecture", default="sm_90")
    build.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    build.add_argument("--nvcc-flags", default="")
    build.add_argument("--each", type=int, metavar="N", help="only N of every section")
    publish = verbs.add_parser("publish", help="models, cards, documents and the board's entry anew")
    publish.add_argument(
        "--board",
        metavar="KEY",
        action="append",
        default=[],
        help="folder; once for each of several  [default: all]",
    )
    publish.add_argument("--gpu", metavar="ID", help="of the catalogue  [default: by the board's name]")
    rehearse = verbs.add_parser("rehearse", help="play everything on stand-ins, write the log")
    rehearse.add_argument("--speed", type=float, default=4.0, help="how much faster time runs")
    rehearse.add_argument("--each", type=int, metavar="N", help="only N of every section")
    rehearse.add_argument("--budget", type=float, default=BUDGET_S, metavar="S", help="of a piece")
    rehearse.add_argument("--pieces", type=int, default=8, help="at most")
    rehearse.add_argument("--page", type=Path, help="write the log into this document")
    return parser


def main(arguments: list[str]) -> int:
    """Run a verb; 0 fine, 1 not all could be done, 2 it could not be begun."""
    options = _parser().parse_args(arguments)
    try:
        if options.verb == "piece":
            return _piece(options)
        from wattslice_tools.campaign import planned

        if options.verb == "plan":
            return planned.tell(options.folder, options.sm_count)
        if options.verb == "merge":
            return planned.tell_merged(options.folder, options.packets)
        if options.verb == "judge":
            return planned.tell_judged(options.folder)
        if options.verb == "report":
            from wattslice_tools.accuracy.accuracy_page import write_section
            from wattslice_tools.campaign.measured_page import MARKERS, measured_page

            words = [] if options.page is None else [str(options.page)]
            return write_section(words, "tools/campaign report", MARKERS, measured_page(options.folder))
        if options.verb == "build":
            flags = tuple(shlex.split(options.nvcc_flags))
            return planned.build_all(options.folder, options.architecture, options.jobs, flags, options.each)
        if options.verb == "publish":
            from wattslice_tools.campaign.publish import publish

            return publish(options.folder, options.board, options.gpu)
        from wattslice_tools.campaign.rehearsal import rehearse

        thin = (options.each, options.budget)
        return rehearse(options.folder, options.speed, options.pieces, thin, options.page)
    except (MeasureError, OSError) as error:
        print(f"campaign: {error}", file=sys.stderr)
        return 2


def end_when_asked() -> None:
    """SIGTERM ends this process, and what was measured is packed on the way out.

    `timeout` asks twice, the process and its group: nothing after the first time may disturb the packing.
    """

    def ended(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, again)
        raise SystemExit(128 + number)

    def again(number: int, frame: FrameType | None) -> None:
        return

    signal.signal(signal.SIGTERM, ended)


def _piece(options: argparse.Namespace) -> int:
    from wattslice_tools.campaign.piece import run_piece, this_lab
    from wattslice_tools.campaign.planned import lines_of_next

    end_when_asked()
    out = Path(os.environ.get("OUT") or "campaign-out")
    flags = tuple(shlex.split(options.nvcc_flags))
    with this_lab(options.device, options.folder / "build", flags) as lab:
        done = run_piece(
            lab,
            options.folder,
            out,
            options.budget,
            options.each,
            say=partial(print, flush=True),
            most_failures=options.failures,
        )
    print(f"piece {done.piece} is in {done.packet}")
    print(*lines_of_next(done.left), sep="\n")
    if done.trouble:
        print(f"campaign: {done.trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
