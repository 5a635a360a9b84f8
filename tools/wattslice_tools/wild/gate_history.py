"""The gate over the history of public repositories: how often it raises an alarm, and rightly.

    python -m wattslice_tools.wild.gate_history run CHECKOUT... --table history.json
    python -m wattslice_tools.wild.gate_history show --table history.json                 # alarms to look at
    python -m wattslice_tools.wild.gate_history document --table history.json -o docs/appendix/gate.md

Every commit on the first-parent line that touches CUDA sources, the newest ones first and none left out, is
compared with its parent as CI would do it: `wattslice gate --against PARENT .`. With `--undone` the parent is
compared with the commit: taking an optimisation back should raise an alarm. The checkout must be a clone
of one's own (`git clone --shared`), for its work tree is moved along; a clone that lacks large files needs a
sparse checkout of its sources and build files. Whether an alarm is a true change or a false one was judged
by reading its diff; the judgements stand in ``gate_history.toml``, by commit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from wattslice_tools.wild.document import publish

JUDGEMENTS = Path(__file__).with_name("gate_history.toml")
ALARMS = ("PW023", "PW022")
KINDS = {"true": "true change", "unknown": "rightly unknown", "false": "false alarm"}


def git(checkout: Path, *words: str) -> str:
    command = ["git", "-C", str(checkout), "-c", "advice.detachedHead=false", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commits(checkout: Path, tip: str, number: int, about: str) -> list[str]:
    """The last `number` commits up to `tip` that touch CUDA sources and have a parent, newest first.

    `about`: only those whose message matches.
    """
    words = ("rev-list", "--first-parent", "--no-merges", "--min-parents=1", f"--max-count={number}", tip)
    words += ("-i", "-E", f"--grep={about}") if about else ()
    return git(checkout, *words, "--", "*.cu", "*.cuh").split()


def cpu_s() -> float:
    """Processor seconds of all children so far: they count alike on a busy machine and an idle one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(checkout: Path, commit: str, undone: bool, options: list[str]) -> dict[str, Any]:
    """One commit against its parent; `undone`: the parent against it, as if somebody took it back."""
    before, after = (commit, f"{commit}~1") if undone else (f"{commit}~1", commit)
    git(checkout, "checkout", "-q", "-f", after)
    command = [sys.executable, "-m", "wattslice", "gate", "--against", before, "--format", "gcc", *options]
    start = cpu_s()
    done = subprocess.run(
        [*command, "."], cwd=checkout, capture_output=True, text=True, check=False, env=os.environ
    )
    seconds = cpu_s() - start
    alarms = [
        line
        for line in done.stdout.splitlines()
        if ": error: " in line and line.endswith(("[PW023]", "[PW022]"))
    ]
    pairs = sum(" note: " in line and " on " in line for line in done.stdout.splitlines())
    return {
        "commit": commit,
        "subject": git(checkout, "log", "-1", "--format=%s", commit).strip(),
        "status": done.returncode,
        "seconds": round(seconds, 2),
        "launches": pairs,
        "alarms": alarms,
        "messages": done.stderr.splitlines()[-3:] if done.returncode == 2 else [],
    }


def run(arguments: argparse.Namespace) -> None:
    table: dict[str, list[dict[str, Any]]] = {}
    if arguments.table.exists():
        table = json.loads(arguments.table.read_text(encoding="utf-8"))
    for checkout in arguments.checkouts:
        name = checkout.name + (", undone" if arguments.undone else "")
        done = {entry["commit"]: entry for entry in table.get(name, [])}
        chosen = commits(checkout, arguments.tip, arguments.number, arguments.about)
        for commit in chosen:
            if commit not in done or arguments.anew:
                done[commit] = compare(checkout, commit, arguments.undone, arguments.option)
                print(checkout.name, commit[:12], done[commit]["status"], done[commit]["seconds"], flush=True)
            table[name] = [done[one] for one in chosen if one in done]
            arguments.table.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def judgements() -> dict[str, dict[str, str]]:
    """By commit: the kind of change (one of `KINDS`) and the reason."""
    if not JUDGEMENTS.exists():
        return {}
    document = tomllib.loads(JUDGEMENTS.read_text(encoding="utf-8"))
    return {entry["commit"]: entry for entry in document["judgement"]}


def show(arguments: argparse.Namespace) -> None:
    known = judgements()
    for name, entries in json.loads(arguments.table.read_text(encoding="utf-8")).items():
        for entry in entries:
            if entry["alarms"] or entry["status"] == 2:
                print(f"\n{name} {entry['commit']} {entry['subject']} {known.get(entry['commit'], '')}")
                print("\n".join((*entry["alarms"], *entry["messages"])))


def document(arguments: argparse.Namespace) -> None:
    known = judgements()
    lines = [
        "| Repository | Commits | without alarm | true changes | rightly unknown | false alarms | "
        "not judged | failed | median CPU s | longest |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    table = json.loads(arguments.table.read_text(encoding="utf-8"))
    details = ["", "| Commit | Alarms | Judged | Why |", "|---|---|---|---|"]
    for name, entries in table.items():
        seconds = [entry["seconds"] for entry in entries]
        loud = [entry for entry in entries if entry["status"] == 1]
        kinds = Counter(known.get(entry["commit"], {}).get("kind", "none") for entry in loud)
        failed = sum(entry["status"] == 2 for entry in entries)
        quiet = len(entries) - len(loud) - failed
        lines.append(
            f"| {name} | {len(entries)} | {quiet} | {kinds['true']} | {kinds['unknown']} | "
            f"{kinds['false']} | {kinds['none']} | {failed} | {median(seconds):.1f} | {max(seconds):.1f} |"
        )
        for entry in loud:
            told = known.get(entry["commit"], {})
            kind = KINDS.get(told.get("kind", ""), "not judged")
            commit = f"{name} {entry['commit'][:10]}"
            details.append(f"| {commit} | {len(entry['alarms'])} | {kind} | {told.get('reason', '')} |")
    publish(arguments.output, "gate_history", [*lines, *details, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="compare commits with their parents")
    runs.add_argument("checkouts", nargs="+", type=Path, metavar="CHECKOUT")
    runs.add_argument("--tip", default="origin/HEAD", help="the newest commit to look at")
    runs.add_argument("--number", type=int, default=40, help="commits per repository")
    runs.add_argument("--about", default="", metavar="REGEX", help="only commits whose message matches")
    runs.add_argument("--undone", action="store_true", help="compare the parent with the commit")
    runs.add_argument("--anew", action="store_true", help="also those that the table has")
    runs.add_argument("--option", action="append", default=[], help="an option of the gate; repeatable")
    runs.set_defaults(work=run)
    shows = commands.add_parser("show", help="print the alarms")
    shows.set_defaults(work=show)
    documents = commands.add_parser("document", help="write the section of the documentation")
    documents.add_argument("-o", "--output", type=Path, metavar="MD")
    documents.set_defaults(work=document)
    for one in (runs, shows, documents):
        one.add_argument("--table", type=Path, required=True, metavar="JSON")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
