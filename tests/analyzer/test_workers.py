"""Many files on several processes: the same answers whoever works, and a death costs one file."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster
from msgspec import structs
from msgspec.structs import replace

from wattslice.config.config import Config, Execution, Options, make_config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.config.options import Backend
from wattslice.errors import WattsliceError
from wattslice.pipeline import clusters, workers
from wattslice.pipeline import files as pipeline
from wattslice.pipeline.clusters import Lost
from wattslice.pipeline.workers import on_workers
from wattslice.report.json import render_json

KERNEL = """__global__ void k{0}(float *y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * {0} + 1;
}}
int main() {{ k{0}<<<64, 256>>>(0, 1 << {0}); }}
"""


HANG_S = 300  # nothing takes so long, however busy the machine is


@pytest.fixture
def config(tmp_path: Path) -> Config:
    for number in range(5):
        (tmp_path / f"k{number}.cu").write_text(KERNEL.format(number + 10))
    (tmp_path / "bad.cu").write_bytes(b"\0")
    return Config(files=tuple(sorted(tmp_path.glob("*.cu"))), gpu=GpuChoice("v100"))


@pytest.mark.slow
def test_everybody_says_the_same(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT_S", HANG_S)
    expected = render_json(pipeline.analyze_files(config))
    done: list[Path] = []
    here: Any = LocalCluster(n_workers=2, processes=False, threads_per_worker=1, dashboard_address=":0")
    with here as cluster:
        runs = (
            replace(config, execution=Execution(jobs=2)),
            replace(config, execution=Execution(backend=Backend.DASK, scheduler=cluster.scheduler_address)),
            replace(config, execution=Execution(jobs=2, cache=tmp_path / "cache")),
            replace(config, execution=Execution(jobs=1, cache=tmp_path / "cache")),
        )
        for run in runs:
            assert render_json(pipeline.analyze_files(run, done.append)) == expected
    assert [sorted(done[start : start + 6]) for start in range(0, 24, 6)] == [list(config.files)] * 4
    assert sum("-" not in entry.name for entry in (tmp_path / "cache" / "results").iterdir()) == 5


def die_on_bad(path: Path) -> str:
    if path.stem.startswith("bad"):
        os.kill(os.getpid(), signal.SIGKILL)
    return path.stem


@pytest.mark.slow
def test_a_process_that_dies_costs_its_own_file():
    items = [Path(name) for name in ("a", "bad", "b", "c")]
    found = dict(on_workers(die_on_bad, items, Execution(2), lambda path, why: f"{path}: {why}"))
    assert [found[number] for number in range(4)] == ["a", "bad: TerminatedWorkerError", "b", "c"]


def test_a_lost_file_is_told(config, monkeypatch):
    def lost(task, paths, _workers, lost):
        for number, path in enumerate(paths):
            yield number, lost(path, "gone") if number == 3 else task(path)

    monkeypatch.setattr(workers, "on_workers", lost)
    analysis = pipeline.analyze_files(replace(config, execution=Execution(jobs=2)))
    assert [Path(kernel.source.file).stem for kernel in analysis.kernels] == ["k0", "k1", "k3", "k4"]
    (told,) = [entry for entry in analysis.diagnostics if entry.rule == "PW099"]
    assert (told.file, told.message) == (
        str(config.files[3]),
        "no result from the process that analysed this file: gone",
    )


def test_a_worker_in_the_wrong_place_says_so(tmp_path):
    def work(folder: str, program: str) -> object:
        return workers._Work(lambda _: "done", folder, str(tmp_path), program)(7, Path("a"))[1]

    here = str(Path.cwd())
    assert work(here, workers.program_digest()) == "done"
    other = work(here, "another")
    assert isinstance(other, Lost)
    assert "runs another version of wattslice" in other.reason
    blind = work(str(tmp_path / "nowhere"), "")
    assert isinstance(blind, Lost)
    assert "does not see the files under the same path: No such file or directory" in blind.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named(config, monkeypatch, backend, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        WattsliceError, match=rf"--backend {backend}: {backend} is not installed .*pip install"
    ):
        pipeline.analyze_files(replace(config, execution=Execution(backend=Backend(backend))))
    one = replace(config, execution=Execution(backend=Backend(backend)), files=config.files[1:2])
    with pytest.raises(WattsliceError, match=rf"{backend} is not installed .*pip install"):
        pipeline.analyze_files(one)  # one file needs none, and says so all the same


def test_a_scheduler_that_does_not_answer_is_named(config, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT_S", 0.2)
    far = replace(config, execution=Execution(backend=Backend.DASK, scheduler="tcp://127.0.0.1:1"))
    with pytest.raises(WattsliceError, match=r"the scheduler tcp://127\.0\.0\.1:1 does not answer"):
        pipeline.analyze_files(far)


@pytest.mark.slow
def test_a_client_that_fails_half_made_is_closed_at_once(config, capfd, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT_S", HANG_S)
    without_certificates = Execution(backend=Backend.DASK, scheduler="tls://127.0.0.1:1")
    far = replace(config, execution=without_certificates)
    begun = time.monotonic()
    with pytest.raises(WattsliceError, match=r"tls://127\.0\.0\.1:1 does not answer: TypeError: TLS"):
        pipeline.analyze_files(far)
    gc.collect()
    assert time.monotonic() - begun < HANG_S  # what it waits for otherwise
    assert "Exception ignored" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("backend", "address", "good"),
    [
        ("dask", "tcp://head:8786", True),
        ("dask", "head:8786", True),
        ("dask", "tls://[::1]:8786", True),
        ("dask", "nonsense", False),
        ("dask", "http://head:8786", False),
        ("dask", "tcp://head", False),
        ("ray", "auto", True),
        ("ray", "ray://head:10001", True),
        ("ray", "tcp://head:1", False),
    ],
)
def test_an_address_is_checked_before_anybody_is_called(tmp_path, backend, address, good):
    (tmp_path / "k.cu").write_text("")
    options = Options(paths=(tmp_path / "k.cu",), backend=backend, scheduler=address)
    if good:
        assert make_config(options).execution.scheduler == address
    else:
        with pytest.raises(WattsliceError, match=rf"--scheduler: '{address}' is no address of a {backend}"):
            make_config(options)


def test_the_options_are_checked(tmp_path):
    (tmp_path / "k.cu").write_text("")
    options = Options(paths=(tmp_path / "k.cu",))
    assert (
        make_config(structs.replace(options, jobs=0, backend="dask", scheduler="tcp://x:1")).execution.backend
        is Backend.DASK
    )
    with pytest.raises(WattsliceError, match=r"--backend: unknown value 'dusk' .did you mean dask"):
        make_config(structs.replace(options, backend="dusk"))
    with pytest.raises(WattsliceError, match=r"--scheduler tcp://x:1: processes of this machine need none"):
        make_config(structs.replace(options, scheduler="tcp://x:1"))
    with pytest.raises(WattsliceError, match="--cache and --no-cache contradict each other"):
        make_config(structs.replace(options, cache=tmp_path, no_cache=True))


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted\n"), (signal.SIGKILL, "")])
@pytest.mark.slow
def test_a_run_that_ends_early_leaves_nobody(tmp_path, number, said):
    task = "    path.with_suffix('.begun').touch()\n    time.sleep(10_000)\n"
    (tmp_path / "slow.py").write_text(f"import time\n\ndef task(path):\n{task}")
    code = (
        "import os, signal, sys, threading, time, traceback\n"
        "from pathlib import Path\n"
        "from slow import task\n"
        "from wattslice.config.config import Execution\n"
        "from wattslice.pipeline.workers import on_workers\n"
        # Where the tests run in the background, it is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def end():\n"
        "    while len(list(Path().glob('*.begun'))) < 2: time.sleep(0.05)\n"
        "    main = threading.main_thread().ident\n"
        "    while 'in _retrieve' not in ''.join(traceback.format_stack(sys._current_frames()[main])):\n"
        "        time.sleep(0.05)\n"  # until joblib waits for them
        "    time.sleep(0.5)\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "threading.Thread(target=end).start()\n"
        "try:\n"
        "    list(on_workers(task, [Path('a'), Path('b')], Execution(3), print))\n"  # one waits for work
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.communicate(timeout=HANG_S)[0] == said  # whoever lives on holds the pipe
        end = time.monotonic() + HANG_S
        while is_alive(process.pid) and time.monotonic() < end:  # what tidies up after the others goes last
            time.sleep(0.1)
        assert not is_alive(process.pid)
    finally:
        if is_alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
