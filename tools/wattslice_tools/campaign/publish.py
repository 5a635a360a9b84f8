"""From the rows of a campaign to what is shipped: tables, models, cards, documents, the board's entry."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from wattslice.training.tables import MeasuredTables, tables_of_file
from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.records import (
    MeasuredRow,
    SliceRow,
    WorkloadRow,
    card_path,
    measurements_path,
    read_card,
    read_measurements,
    read_slices,
    read_sweep,
    read_workloads,
    slices_path,
    sweep_path,
    workloads_path,
    write_table,
)
from wattslice_models.gpu import UnknownGpuError, load_gpu
from wattslice_tools.accuracy.accuracy_page import begin_marker
from wattslice_tools.campaign.home import BoardFolder, boards, write_tables
from wattslice_tools.campaign.probes import gap_probes, probes
from wattslice_tools.campaign.sensor_check import RESULT

SECTION_END = "<!-- evaluate: end of the generated part -->"
"""The last line of every section of the document."""
_NEEDED = ("clang", "click", "scipy", "torch")
_DATASET = "[[dataset]]"
_ROOT = Path(__file__).parents[3]
_GPUS = _ROOT / "models" / "wattslice_models" / "gpus"
_ACCURACY = _ROOT / "docs" / "appendix" / "accuracy.md"
_SECONDS = _ROOT / "docs" / "appendix" / "seconds.md"
_DATASETS = _ROOT / "docs" / "appendix" / "datasets.md"


def publish(campaign: Path, keys: Sequence[str], gpu_id: str | None) -> int:
    """Everything that follows from the rows of the boards of one kind, anew. Raises `MeasureError`.

    `keys`: of the boards; none: all of them.

    Rows that an earlier campaign left for the GPU are replaced; public data sets of it stay.
    """
    if lacking := [name for name in _NEEDED if importlib.util.find_spec(name) is None]:
        raise MeasureError(
            f"training needs {', '.join(lacking)}, which {sys.executable} lacks: "
            "pip install -c constraints.txt -e '.[dev]'"
        )
    found = boards_of(campaign, keys)
    gpu = gpu_of(found[0], gpu_id)
    for one in found:
        write_tables(one)
    found = tuple(one for one in found if _has_watts(one))
    if not found:
        raise MeasureError(f"{campaign}: no row has valid watts, nothing to learn from")
    write_measured(found, gpu)
    checked = next((one for one in found if sensor_facts(one.folder / RESULT)), found[0])
    changed = write_entry(_GPUS / f"{gpu}.toml", sensor_facts(checked.folder / RESULT), checked)
    print(f"{gpu}.toml: {', '.join(changed) or 'nothing measured for it'}")
    make_section(_ACCURACY, gpu)
    steps = (
        ("wattslice_tools.retrain",),
        ("wattslice_corpora.records.page", str(_DATASETS)),
        ("wattslice_tools.accuracy.seconds", str(_SECONDS)),
    )
    failed: list[str] = []
    for module, *words in steps:
        print(f"== {module} {' '.join(words)}", flush=True)
        done = subprocess.run([sys.executable, "-m", module, *words], check=False, cwd=_ROOT)
        if done.returncode:
            failed.append(" ".join((module, *words)))
    print("== look at the difference, then: pytest --update-golden tests/docs tests/analyzer")
    if failed:
        print(f"not done: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def boards_of(campaign: Path, keys: Sequence[str]) -> tuple[BoardFolder, ...]:
    """The boards with these keys, or all; they must be of one kind. Raises `MeasureError`."""
    every = boards(campaign)
    names = ", ".join(f"{one.folder.name} ({one.board.name})" for one in every) or "none"
    if unknown := set(keys) - {one.folder.name for one in every}:
        raise MeasureError(f"{campaign}: no board {', '.join(sorted(unknown))}; there are: {names}")
    found = tuple(one for one in every if not keys or one.folder.name in keys)
    if len({one.board.name for one in found}) != 1:
        raise MeasureError(f"{campaign}: boards of one kind, --board for each of them; there are: {names}")
    return found


def _has_watts(found: BoardFolder) -> bool:
    return any(row.power_valid for row in read_measurements(found.folder / "measured.csv"))


def gpu_of(found: BoardFolder, gpu_id: str | None) -> str:
    """The board's id in the catalogue, by its name or as given. Raises `MeasureError`."""
    name = gpu_id or found.board.name.removeprefix("NVIDIA ")
    try:
        return load_gpu(name).id
    except UnknownGpuError as error:
        raise MeasureError(f"{error}: say which with --gpu") from None


def write_measured(found: Sequence[BoardFolder], gpu: str) -> None:
    """The rows, our features of them, the sweep and the cards, where those of every GPU stand."""
    tables = joined([tables_of_file(one.folder / "measured.csv", load_gpu(gpu)) for one in found])
    keys = ", ".join(one.folder.name for one in found)
    source = f"campaign on {found[0].board.name}, board{'s' * (len(found) > 1)} {keys}"
    keep_public(gpu, [one.folder / "card.toml" for one in found], tables, source)
    sweeps = (one.folder / "measured_sweep.csv" for one in found)  # of the plan, the same for every board
    if sweep := next((path for path in sweeps if path.is_file() and read_sweep(path)), None):
        shutil.copyfile(sweep, sweep_path(gpu))
    sm_count = found[0].chip.sm_count
    measured_apart = {one.name for one in (*probes(sm_count), *gap_probes(sm_count))}
    for run, reason in tables.reasons:
        if run[0] not in measured_apart:
            print(f"without features: {' '.join(run)}: {reason}")
    print(f"{len(measured_apart)} microbenchmarks serve probes.csv, not the training")


def joined(tables: Sequence[MeasuredTables]) -> MeasuredTables:
    """The tables of several boards as one. The features of a run that several boards measured stand once:
    twice, they would be two launches.
    """
    rows: list[MeasuredRow] = []
    workloads: list[WorkloadRow] = []
    slices: list[SliceRow] = []
    reasons: dict[tuple[str, str, str], str] = {}
    for one in tables:
        known = set(map(_run, workloads))
        rows += one.measured
        workloads += (row for row in one.workloads if _run(row) not in known)
        slices += (row for row in one.slices if _run(row) not in known)
        reasons |= one.reasons
    return MeasuredTables(
        tuple(rows), tuple(workloads), tuple(slices), None, tuple(reasons.items()), tuple(tables[0].files)
    )


def _run(row: MeasuredRow | WorkloadRow | SliceRow) -> tuple[str, str, str]:
    return row.benchmark, row.kernel, row.arguments


def keep_public(gpu: str, cards: Sequence[Path], tables: MeasuredTables, source: str) -> None:
    """Writes tables and card of a GPU: those of the campaign, a card for every board, and what its files
    have of other data sets.
    """
    own = {entry.key for card in cards for entry in read_card(card).datasets}
    rows, workloads, slices = tables.measured, tables.workloads, tables.slices
    described = cards[0].read_text(encoding="utf-8").partition(_DATASET)[0]
    with_rows = {row.dataset for row in rows}
    blocks = [
        block
        for card in cards
        for block in card.read_text(encoding="utf-8").split(_DATASET)[1:]
        if _key(block) in with_rows
    ]
    if card_path(gpu).is_file():
        kept = tuple(row for row in read_measurements(measurements_path(gpu)) if row.dataset not in own)
        runs = set(map(_run, kept)) - set(map(_run, workloads))
        rows += kept
        workloads += tuple(row for row in read_workloads(workloads_path(gpu)) if _run(row) in runs)
        slices += tuple(row for row in read_slices(slices_path(gpu)) if _run(row) in runs)
        before = card_path(gpu).read_text(encoding="utf-8").split(_DATASET)[1:]
        blocks += (one for one in before if _key(one) not in own)
    described = "\n".join((described.rstrip("\n"), *(f"\n{_DATASET}{one.rstrip()}" for one in blocks), ""))
    comments = (f"{source}; card: {gpu}.toml",)
    write_table(measurements_path(gpu), comments, MeasuredRow, rows)
    write_table(workloads_path(gpu), comments, WorkloadRow, workloads)
    write_table(slices_path(gpu), comments, SliceRow, slices)
    card_path(gpu).write_text(described, encoding="utf-8")


def _key(block: str) -> str:
    """Of the data set that a block of a card describes."""
    return tomllib.loads(_DATASET + block)["dataset"][0]["key"]


def sensor_facts(path: Path) -> tuple[tuple[str, float], ...]:
    """What the sensor check says of the entries of a GPU's file; nothing without a check."""
    if not path.is_file():
        return ()
    check = json.loads(path.read_text(encoding="utf-8")).get("check")
    if not check:
        return ()
    values = (
        ("idle_power_w", check["without_context"]["power_w"], 1.0),
        ("nvml_update_period_ms", check["instant_period_s"], 1e3),
    )
    return tuple((name, round(value * scale, 1)) for name, value, scale in values if value is not None)


def write_entry(path: Path, facts: Iterable[tuple[str, float]], found: BoardFolder) -> tuple[str, ...]:
    """Replaces what was measured in the file of a GPU; returns the names. Other lines stay as they are."""
    text = path.read_text(encoding="utf-8")
    today, key = date.today().isoformat(), found.folder.name
    source = f"campaign of {today} on board {key}, driver {found.board.driver}"
    changed: list[str] = []
    for name, value in facts:
        line = f'{name} = {{ value = {value:g}, source = "{source}" }}'
        text, count = re.subn(rf"(?m)^{name} = .*$", line, text)
        if count:
            changed.append(f"{name} = {value:g}")
    tomllib.loads(text)
    path.write_text(text, encoding="utf-8")
    return tuple(changed)


def make_section(page: Path, gpu: str) -> None:
    """A place for the GPU in the document, after the last one."""
    text = page.read_text(encoding="utf-8")
    if begin_marker(gpu) not in text:
        before, end, after = text.rpartition(SECTION_END)
        page.write_text(f"{before}{end}\n\n{begin_marker(gpu)}\n{SECTION_END}{after}", encoding="utf-8")
