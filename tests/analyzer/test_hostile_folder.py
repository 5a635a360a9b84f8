"""A folder that holds a module for every name that wattslice or Python may import: none of them is run."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from wattslice.config.options import Backend
from wattslice.pipeline.clusters import workers_of

from .lsp.client import Client

KERNEL = """__global__ void k(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * 2 + 1;
}
int main() { k<<<64, 256>>>(0, 1 << 14); }
"""
NESTED = KERNEL + "int x = 1" + " + 1" * 1600 + ";\n"
"""So many operators that the parse is tried in a process of its own."""
SOURCES = {"a.cu": KERNEL, "b.cu": KERNEL, "nested.cu": NESTED, "c.c": "void f(float *a) { a[0] = 1; }\n"}
LISTING = """
import io, os, sys
from contextlib import redirect_stdout
from pathlib import Path
import wattslice.lsp.server
from wattslice.cli import main
from wattslice.config.config import Execution
from wattslice.pipeline.workers import on_workers

def modules(path):
    with redirect_stdout(io.StringIO()):
        main(["analyze", "--no-cache", str(path)])
    return sorted(sys.modules)

if __name__ == "__main__":
    items = [Path(name) for name in sys.argv[1:]]
    with redirect_stdout(io.StringIO()):
        assert main(["analyze", "--no-cache", "--format", "html", "--jobs", "2", *sys.argv[1:]]) == 0
    there = [found for _, found in on_workers(modules, items, Execution(2), lambda path, why: 1 / 0)]
    print(*sys.modules, *(name for found in there for name in found))
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "error"}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def write_sources(folder: Path) -> None:
    folder.mkdir()
    for name, text in SOURCES.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> frozenset[str]:
    """Every top-level module of this process, its workers, the language server, and the standard library."""
    folder = tmp_path_factory.mktemp("listing")
    write_sources(folder / "sources")
    (folder / "listing.py").write_text(LISTING)
    done = run(folder / "sources", str(folder / "listing.py"), *SOURCES)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()} - {"__main__", "__mp_main__"}
    assert {"numpy", "joblib", "wattslice", "click", "pygls"} <= loaded
    return frozenset(loaded | sys.stdlib_module_names)


@pytest.fixture
def trap(tmp_path: Path, names: frozenset[str]) -> Path:
    """The folder; `fell_in` tells which of its modules were run."""
    write_sources(tmp_path / "trap")
    for name in names:
        set_trap(tmp_path / "trap", name)
    return tmp_path / "trap"


def set_trap(folder: Path, name: str) -> None:
    marker = str(folder.with_name("marker"))
    (folder / f"{name}.py").write_text(f"open({marker!r}, 'a').write({name!r} + ' ')\nraise ImportError\n")


def fell_in(trap: Path) -> list[str]:
    marker = trap.with_name("marker")
    return marker.read_text().split() if marker.exists() else []


def command(trap: Path) -> str:
    """What pip makes of an entry point."""
    script = trap.with_name("bin") / "started"
    script.parent.mkdir()
    script.write_text("import sys\nfrom wattslice.cli import main\nsys.exit(main())\n")
    return str(script)


@pytest.mark.slow
def test_the_trap_is_one(trap):
    assert run(trap, "-c", "import zipapp").returncode == 1
    assert fell_in(trap)


@pytest.mark.slow
def test_workers_import_nothing_from_the_folder(trap):
    (trap / "wattslice.toml").write_text("jobs = 2\n")
    done = run(trap, command(trap), "analyze", "--no-cache", *SOURCES)
    assert (fell_in(trap), done.returncode) == ([], 0), done.stderr


@pytest.mark.slow
def test_started_as_a_module_nothing_of_the_folder_counts_but_what_python_itself_begins_with(trap):
    (trap.with_name("nothing.py")).write_text("import sys; print(*sys.modules)")
    first = run(trap.parent, "-m", "nothing").stdout.split()
    for name in {"wattslice", *(name.partition(".")[0] for name in first)}:
        (trap / f"{name}.py").unlink(missing_ok=True)
    done = run(trap, "-m", "wattslice", "analyze", "--no-cache", "--jobs", "2", *SOURCES)
    assert (fell_in(trap), done.returncode) == ([], 0), done.stderr
    assert run(trap, "-P", "-m", "wattslice", "--help").returncode == 0


@pytest.mark.slow
def test_nothing_of_the_folder_is_run_by_the_language_server(trap):
    with Client(trap, {"debounceMs": 0, "plainC": True}, (command(trap),)) as client:
        client.initialize()
        uris = [client.open(trap / name, text) for name, text in SOURCES.items()]
        client.all_diagnostics(*uris)
        assert client.leave() == 0
    assert fell_in(trap) == []


DRAWING = """
import sys
from pathlib import Path
from wattslice.report.pictures import save_picture
save_picture(lambda figure: figure.text(0.5, 0.5, "watts"), (2, 2), [Path(sys.argv[1])])
"""


@pytest.mark.slow
def test_no_picture_is_drawn_as_the_folder_says(tmp_path):
    (tmp_path / "draw").mkdir()
    (tmp_path / "draw" / "draw.py").write_text(DRAWING)
    pictures: list[bytes] = []
    for name in ("a", "b"):
        done = run(tmp_path, "draw/draw.py", f"{name}.png")
        assert done.returncode == 0, done.stderr
        pictures.append((tmp_path / f"{name}.png").read_bytes())
        text = "text.usetex: True\ntext.latex.preamble: \\input{secret}\nfigure.facecolor: red\n"
        (tmp_path / "matplotlibrc").write_text(text)
    assert pictures[0] == pictures[1]


def test_ray_is_begun_in_an_empty_folder(monkeypatch, tmp_path):
    begun_in: list[list[Path]] = []
    ray: Any = ModuleType("ray")
    ray.is_initialized = lambda: False

    def init(**_: object) -> None:
        begun_in.append([Path.cwd(), *Path.cwd().iterdir()])

    ray.init = init
    ray.shutdown = lambda: None
    backend: Any = ModuleType("ray.util.joblib")
    backend.register_ray = lambda: None
    for name, module in (("ray", ray), ("ray.util", ModuleType("ray.util")), ("ray.util.joblib", backend)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    with workers_of(Backend.RAY, 2, None):
        assert Path.cwd() == tmp_path
    assert [len(entries) for entries in begun_in] == [1]
    assert begun_in[0][0] != tmp_path
