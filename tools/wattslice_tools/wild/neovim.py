"""A real client at work: Neovim, headless, set up as docs/editors.md says, on public files; as Markdown.

    python -m wattslice_tools.wild.neovim FILE.cu... [--neovim nvim] [--clangd clangd] [--edits 20]
        [-o docs/appendix/editors.md]

Of the first file it is told what was shown: hints, lenses, diagnostics, hover, an action applied. Of all of
them the latency: from the change of the buffer until Neovim holds the hints of the new text, beside
libclang's bare parse of the file (speed.py). Every edit makes a text that was never analysed before. Each
file is worked on in a copy of its folder. Meaningful on an otherwise idle machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from wattslice_tools.wild.checkouts import revision
from wattslice_tools.wild.document import publish
from wattslice_tools.wild.edit_latency import bare_parse
from wattslice_tools.wild.speed import measured

_HERE = Path(__file__).parent
_SETUP = re.compile(r"<!-- neovim set-up -->\s*```lua\n(.*?)```", re.DOTALL)
_PAUSE_MS, _KEY_MS, _PATIENCE_MS = 600, 120, 10_000
_TIMEOUT_S = 900
_HOVERS = ("hover_line", "hover_kernel")


def visit(neovim: str, clangd: str | None, files: list[Path], setup: str, edits: int) -> dict[str, Any]:
    """What Neovim saw, as neovim_client.lua writes it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        (home / "setup.lua").write_text(setup, encoding="utf-8")
        task = {
            "setup": str(home / "setup.lua"),
            "files": [str(_copied(file, home / str(number))) for number, file in enumerate(files)],
            "edits": edits,
            "clangd": clangd,
            "pause_ms": _PAUSE_MS,
            "key_ms": _KEY_MS,
            "patience_ms": _PATIENCE_MS,
        }
        (home / "task.json").write_text(json.dumps(task), encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "WATTSLICE_TASK": str(home / "task.json"),
            "WATTSLICE_RESULT": str(home / "result.json"),
            "XDG_STATE_HOME": str(home / "state"),
        }
        command = [neovim, "--clean", "--headless", "-S", str(_HERE / "neovim_client.lua")]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        if not (home / "result.json").is_file():
            raise SystemExit(f"{neovim} ended with status {done.returncode}: {done.stderr.strip()}")
        found = json.loads((home / "result.json").read_text(encoding="utf-8"))
    if "error" in found:
        raise SystemExit(f"{neovim}: {found['error']}")
    return found


def _copied(file: Path, folder: Path) -> Path:
    """The file in a copy of its folder that counts as the root of a project."""
    shutil.copytree(
        file.parent, folder, ignore=lambda at, names: [n for n in names if (Path(at) / n).is_dir()]
    )
    (folder / ".git").mkdir()
    return folder / file.name


def told(name: str, result: dict[str, Any]) -> str:
    """What one file showed, without figures of the models: they would be those of the day."""
    typed, action = result["typed"], result.get("action")
    counts = ", ".join(f"{len(result[kind])} {kind}" for kind in ("hints", "lenses", "diagnostics"))
    shown = [counts, *(f"a {hover.replace('_', ' over a ')}" for hover in _HOVERS if result.get(hover))]
    if action:
        shown.append(f"the action *{action['title']}*, and then {len(action['diagnostics'])} diagnostics")
    return (
        f"On `{name}`: {'; '.join(shown)}. {typed['keys']} keys typed, one each {_KEY_MS} ms: "
        f"{typed['analyses']} analyses, the hints changed {typed['changes']} times, the last time "
        f"{typed['after_last_ms']:.0f} ms after the last key."
    )


def latency_row(file: Path, result: dict[str, Any]) -> str:
    """One row of the table of latencies."""
    parse = partial(bare_parse(file), file.read_bytes().decode("utf-8", "replace"))
    precompiled_s = min(measured(parse).wall_s for _ in range(5))
    all_ms = sorted(result["latencies_ms"])
    middle_ms, parse_ms = statistics.median(all_ms), 1e3 * precompiled_s
    return " | ".join(
        (
            f"| `{_name(file)}`",
            str(result["lines"]),
            f"{result['opened_ms']:.0f}",
            f"**{middle_ms:.0f}** ({all_ms[0]:.0f} to {all_ms[-1]:.0f})",
            f"{statistics.median(result['analysis_ms']):.0f}",
            f"{statistics.median(result['processor_ms']):.0f}",
            f"{parse_ms:.0f}",
            f"{middle_ms / parse_ms:.1f} |",
        )
    )


def beside_lines(clangd: str, clients: list[dict[str, Any]]) -> list[str]:
    """The table of two servers on one buffer."""
    said = subprocess.run([clangd, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"clangd version [\w.]+", said)
    lines = [
        f"Beside {version[0] if version else 'clangd'}, on the first file:",
        "",
        "| server | completion | definition | hover | diagnostics | hints |",
        "|---|---|---|---|---|---|",
    ]
    for client in sorted(clients, key=lambda client: client["name"]):
        offers = " | ".join("yes" if client[key] else "no" for key in ("completion", "definition", "hover"))
        lines.append(f"| {client['name']} | {offers} | {client['diagnostics']} | {client['hints']} |")
    return [*lines, ""]


def _name(file: Path) -> str:
    """The path from the name of the checkout on."""
    for folder in file.resolve().parents:
        if (folder / ".git").exists():
            return str(file.resolve().relative_to(folder.parent))
    return file.name


def _suites(files: list[Path]) -> str:
    found = {_name(file).split("/")[0]: revision(file.parent) for file in files}
    return ", ".join(f"{name} {commit}" for name, commit in sorted(found.items()))


def main() -> None:
    """Visit the files and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--neovim", default="nvim", help="Neovim 0.11 or newer")
    parser.add_argument("--clangd", help="try it beside wattslice on the first file")
    parser.add_argument("--edits", type=int, default=20, help="per file")
    parser.add_argument(
        "--document", type=Path, default=_HERE.parents[2] / "docs" / "editors.md", help="has the set-up"
    )
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    setup = _SETUP.search(options.document.read_text(encoding="utf-8"))
    if setup is None:
        raise SystemExit(f"{options.document}: no set-up of Neovim")
    found = visit(options.neovim, options.clangd, options.files, setup[1], options.edits)
    results = found["results"]
    server = results[0]["server"]
    lines = [
        f"Neovim {found['neovim']}, {server['name']} {server['version']}, predicting for the "
        f"{results[0]['gpu']}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} meanwhile. "
        f"Files of {_suites(options.files)}.",
        "",
        told(_name(options.files[0]), results[0]),
        "",
        f"From {options.edits} edits per file, each of them until Neovim holds the new hints, in ms:",
        "",
        "| file | lines | opened to hints | edit to hints, median (least to most) | of that the analysis "
        "| its processor time | libclang's bare parse | edit to hints / bare parse |",
        "|---|---|---|---|---|---|---|---|",
        *(latency_row(file, result) for file, result in zip(options.files, results, strict=True)),
        "",
        *(beside_lines(options.clangd, found["beside"]) if options.clangd else []),
    ]
    publish(options.output, "neovim", lines)


if __name__ == "__main__":
    main()
