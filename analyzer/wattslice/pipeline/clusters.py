"""The workers that a run hands its files to: processes of this machine, a dask or a ray cluster.

loky and ray are reached through joblib. dask is not: a worker that dies leaves joblib's backend for dask
(1.6) waiting for ever, while dask itself says which of the calls it was.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (neither dask nor ray has types worth the name)

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, cast

from msgspec import Struct

from wattslice.config.options import Backend
from wattslice.errors import WattsliceError

CONNECT_TIMEOUT_S = 5
_WATCH_S = 0.5


class Lost(Struct, frozen=True):
    """A call without result, and why."""

    reason: str


Calls = Sequence[tuple[int, Any]]
Outcomes = Iterator[tuple[int, Any]]
"""The number of a call with its result or `Lost`, in the order they are done."""
Parallel = Callable[[Callable[[int, Any], tuple[int, Any]], Calls], Outcomes]
"""Runs a function, which gives back its number, once per call. A process that dies may raise anything."""


_PACKAGES = {
    Backend.DASK: ("distributed", "pip install '.[cluster]' in the checkout"),
    Backend.RAY: ("ray", "pip install ray"),
}


def check_package(backend: Backend) -> None:
    """Raises `WattsliceError` when what `backend` needs is not installed; nothing is imported."""
    if backend in _PACKAGES:
        package, remedy = _PACKAGES[backend]
        if find_spec(package) is None:
            name = backend.value
            raise WattsliceError(f"--backend {name}: {name} is not installed", remedy=remedy)


@contextlib.contextmanager
def workers_of(backend: Backend, jobs: int, scheduler: str | None) -> Generator[Parallel]:
    """Gives what runs calls on workers; `jobs` 0: as many as there are cores (of the cluster: all of it).

    Without `scheduler` dask and ray begin a cluster of `jobs` processes on this machine, which ends with us.
    Raises `WattsliceError` when the scheduler does not answer.
    """
    import joblib  # costs 100 ms

    with _safe_path():
        if backend is Backend.LOKY:
            # A single file must not be analysed in this process: it may be the one that kills its process.
            count = max(2, jobs or joblib.cpu_count())
            yield _through_joblib("loky", count, "generator_unordered", initializer=_Watch(os.getpid()))
            return
        start = _dask if backend is Backend.DASK else _ray
        with start(jobs or joblib.cpu_count(), scheduler) as parallel:
            yield parallel


@contextlib.contextmanager
def _safe_path() -> Generator[None]:
    """Meanwhile a Python that is started imports nothing from the current folder, which may be a stranger's.

    joblib, multiprocessing and dask start theirs with `-m` or `-c`, and their helpers too; all of them pass
    on the environment.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONSAFEPATH", None)
        else:
            os.environ["PYTHONSAFEPATH"] = before


class _Watch(Struct, frozen=True):
    """Begins, in a worker, to look whether process `parent` still is the one that began it.

    A worker that waits for work holds both ends of its pipes: it would wait on after its parent was killed,
    and so would whoever reads what they print.
    """

    parent: int

    def __call__(self) -> None:
        def watch() -> None:
            while os.getppid() == self.parent:
                time.sleep(_WATCH_S)
            os._exit(1)

        if sys.platform != "win32":  # where a process keeps the number of a parent that is gone
            threading.Thread(target=watch, name="parent", daemon=True).start()


def _through_joblib(name: str, jobs: int, return_as: str, **more: object) -> Parallel:
    import joblib

    def run(function: Callable[[int, Any], tuple[int, Any]], calls: Calls) -> Outcomes:
        delayed: Any = joblib.delayed(function)
        with joblib.parallel_config(name, n_jobs=jobs, **more):
            parallel: Any = joblib.Parallel(return_as=return_as)
            yield from parallel(delayed(*call) for call in calls)

    return run


@contextlib.contextmanager
def _dask(jobs: int, scheduler: str | None) -> Generator[Parallel]:
    import logging

    from distributed import Client, LocalCluster, as_completed

    class ClosingClient(Client):
        """One that closes after whatever goes wrong with connecting; distributed's does after OSError only
        and waits for itself at the end."""

        async def _start(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            try:
                return await super()._start(*arguments, **named)
            except Exception:
                await self._close()
                raise

    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    dashboard_address=cast("str", None),
                    silence_logs=logging.CRITICAL,
                )
            )
        try:
            client = stack.enter_context(
                ClosingClient(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
            )
        except (OSError, ValueError, TypeError, ImportError) as error:  # TypeError: TLS without certificates
            raise _unreachable("dask", scheduler, error) from None
        if not client.ncores():
            try:
                client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_S)
            except (OSError, TimeoutError):
                reason = TimeoutError(f"no worker after {CONNECT_TIMEOUT_S} s")
                raise _unreachable("dask", scheduler, reason) from None

        def run(function: Callable[[int, Any], tuple[int, Any]], calls: Calls) -> Outcomes:
            numbers, items = [number for number, _ in calls], [item for _, item in calls]
            futures: list[Any] = client.map(function, numbers, items, pure=False, key="wattslice")
            waiting = dict(zip(futures, numbers, strict=True))
            futures.clear()
            done = as_completed(waiting, loop=client.loop, with_results=True, raise_errors=False)
            try:
                for future, result in done:
                    number = waiting.pop(future)
                    error = future.exception() if future.status == "error" else None
                    yield (number, Lost(type(error).__name__)) if error else result
                    future.release()  # else the cluster would keep all results until the end
            finally:
                client.cancel(list(waiting))

        yield run


@contextlib.contextmanager
def _ray(jobs: int, scheduler: str | None) -> Generator[Parallel]:
    import logging
    import tempfile

    import ray  # pyright: ignore[reportMissingImports]
    from ray.util.joblib import register_ray  # pyright: ignore[reportMissingImports]

    module: Any = ray
    begun = not module.is_initialized()
    try:
        if begun:
            where: dict[str, Any] = {"address": scheduler} if scheduler else {"num_cpus": jobs}
            # ray has its workers import from the folder that is current now.
            with tempfile.TemporaryDirectory(prefix="wattslice-") as empty, contextlib.chdir(empty):
                module.init(
                    log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR, **where
                )
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreachable("ray", scheduler, error) from None
    try:
        register: Any = register_ray
        register()
        yield _through_joblib("ray", -1, "list")  # joblib's backend for it knows no other way
    finally:
        if begun:
            module.shutdown()


def _unreachable(package: str, scheduler: str | None, error: Exception) -> WattsliceError:
    where = f"the scheduler {scheduler} does not answer" if scheduler else "no local cluster"
    message = f"--backend {package}: {where}: {what_failed(error)}"
    return WattsliceError(message, remedy="check --scheduler and its workers")


def what_failed(error: BaseException) -> str:
    """What an error of somebody else is called and says, as far as that fits into a message."""
    first_line, _, _ = str(error).strip().partition("\n")
    return f"{type(error).__name__}: {first_line}"
