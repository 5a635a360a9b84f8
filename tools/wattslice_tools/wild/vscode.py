"""A real client at work: VS Code in a browser (code-server) with our extension; as Markdown, and a picture.

    python -m wattslice_tools.wild.vscode --code-server node_modules/code-server/out/node/entry.js \\
        --playwright node_modules/playwright-core/index.mjs [--chromium chromium] [--picture hints.png] \\
        [-o docs/appendix/editors.md]

Both come from npm, into any folder. The extension is packaged (`npm run package`), installed into an empty
profile and tried on a kernel of ours: hints, code lens, hover, status bar; then edits, each until VS Code
shows the new hint. Meaningful on an otherwise idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

from wattslice_tools.wild.document import publish

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]
_KERNELS = _ROOT / "corpora" / "wattslice_corpora" / "kernels"
_FILE, _KERNEL = "wang2013/transpose.cu", "transpose"
_SETTINGS = {
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
    "editor.minimap.enabled": False,
}
_QUIET = ("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust")
_START_S = 60.0


def package() -> Path:
    """The extension as a .vsix, made now."""
    folder = _ROOT / "editors" / "vscode"
    if not (folder / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=folder, check=True, stdout=sys.stderr)
    subprocess.run(["npm", "run", "package"], cwd=folder, check=True, stdout=sys.stderr)
    return folder / "wattslice.vsix"


def workspace(home: Path) -> Path:
    """A project with our kernels, and an environment in which the executable is found."""
    root = home / "project"
    shutil.copytree(_KERNELS / "wang2013", root / "wang2013")
    shutil.copy(_KERNELS / "common.cuh", root)
    (root / ".venv" / "bin").mkdir(parents=True)
    executable = shutil.which("wattslice")
    if executable is None:
        raise SystemExit("no wattslice on the PATH")
    (root / ".venv" / "bin" / "wattslice").symlink_to(executable)
    return root


@contextlib.contextmanager
def serving(code_server: Path, home: Path, vsix: Path) -> Generator[str]:
    """code-server with the extension, until the end of the block; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    (home / "config.yaml").touch()
    (home / "data" / "User").mkdir(parents=True)
    (home / "data" / "User" / "settings.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    command = [
        "node",
        str(code_server),
        "--config",
        str(home / "config.yaml"),
        "--user-data-dir",
        str(home / "data"),
    ]
    command += ["--extensions-dir", str(home / "extensions"), *_QUIET]
    subprocess.run([*command, "--install-extension", str(vsix)], check=True, stdout=sys.stderr)
    process = subprocess.Popen(
        [*command, "--auth", "none", "--bind-addr", address],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "EXTENSIONS_GALLERY": "{}"},  # nothing is looked up anywhere
    )
    try:
        _wait_for(f"http://{address}/")
        yield f"http://{address}/"
    finally:
        process.terminate()
        process.wait()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise SystemExit(f"nothing answers at {url}") from None
            time.sleep(0.5)


def place() -> tuple[int, int]:
    """Line and column (from 1) before the semicolon of the kernel's load: where the edits go."""
    for number, line in enumerate((_KERNELS / _FILE).read_text(encoding="utf-8").splitlines(), 1):
        if "= in[" in line:
            return number, line.index(";") + 1
    raise SystemExit(f"{_FILE} is not what it was")


def told(result: dict[str, Any]) -> str:
    """What the visit showed, without figures of the models: they would be those of the day."""
    line, _ = place()
    all_ms = sorted(result["latencies_ms"])
    hinted = [entry["line"] for entry in result["hints"]]
    if line not in hinted or not (result["lenses"] and result["hover"]):
        raise SystemExit("the visit showed no hint at the edited line, no lens or no hover")
    return (
        f"On `{_FILE}`: first hints after {result['opened_ms']} ms, "
        f"in lines {' and '.join(map(str, hinted))}; {len(result['lenses'])} lens, "
        f"`{result['status']}` in the status bar, a hover over the kernel. "
        f"{len(all_ms)} edits of line {line}, each to its hint: {statistics.median(all_ms):.0f} ms "
        f"(median; {all_ms[0]} to {all_ms[-1]})."
    )


def main() -> None:
    """Visit and print, or write the section of a document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--code-server", type=Path, required=True, help="its out/node/entry.js")
    parser.add_argument("--playwright", type=Path, required=True, help="the index.mjs of playwright-core")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--picture", type=Path, help="a PNG of the hover over the kernel")
    parser.add_argument("-o", "--output", type=Path, help="replace this script's section of a Markdown file")
    options = parser.parse_args()
    vsix = package()
    line, column = place()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        root = workspace(home)
        with serving(options.code_server.resolve(), home, vsix) as url:
            task = {
                "url": f"{url}?folder={root}",
                "file": _FILE,
                "kernel": _KERNEL,
                "line": line,
                "column": column,
                "edits": options.edits,
                "patience_ms": 90_000,
                "playwright": str(options.playwright.resolve()),
                "chromium": options.chromium,
                "picture": str((options.picture or home / "picture.png").resolve()),
            }
            command = ["node", str(_HERE / "vscode_client.mjs"), json.dumps(task)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"the visit failed: {done.stderr.strip()}")
    said = subprocess.run(
        ["node", str(options.code_server), "--version"], capture_output=True, text=True, check=True
    )
    version = re.search(r"with Code ([\d.]+)", said.stdout)
    lines = [
        f"VS Code {version[1] if version else '?'} in a browser (code-server); "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} meanwhile. {told(json.loads(done.stdout))}",
        "",
    ]
    publish(options.output, "vscode", lines)


if __name__ == "__main__":
    main()
