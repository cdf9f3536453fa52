"""Kernels compiled in advance, by several processes at once.

A run that starts with an empty cache would compile one kernel after the other, each when it is first called. Where it
is known what a run will call, processes of their own compile it before, one per processor, and leave the results in the
cache. `recording` notes the calls of a run, and `Precompiler` compiles them for another.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from continua.numerics import kernel_cache

__all__ = ["KernelRequest", "Precompiler", "decode_type", "encode_type", "is_cached", "recording"]

MAX_JOBS = 8
START_SECONDS = 1.5  # of a process that compiles
_POLL = 0.05
_READY = "ready"


class KernelRequest(NamedTuple):
    """A kernel and the types it is called with.

    Attributes:
        kernel: Its full name.
        parallel: Whether it is the parallel variant.
        factory: Names of the function and of the class that it is made from, or empty.
        types: Types of its arguments, from `encode_type`.
        seconds: How long it takes to compile [s].
    """

    kernel: str
    parallel: bool
    factory: tuple[str, ...]
    types: tuple[Any, ...]
    seconds: float = 1.0

    def with_seconds(self, seconds: float) -> KernelRequest:
        """Return the request with another time [s]."""
        return self._replace(seconds=seconds)


def encode_type(kind: Any) -> Any:
    """Return a Numba type as text, or as a tuple of texts for a tuple; None if there is no short form."""
    from numba import types

    if isinstance(kind, types.Array):
        if not kind.aligned or isinstance(kind.dtype, types.Record):
            return None
        return f"{kind.dtype}[{kind.ndim}{kind.layout}]{'' if kind.mutable else 'r'}"
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        made = kind.instance_class
        name = f"{made.__module__}.{made.__qualname__}"
    elif isinstance(kind, types.Tuple | types.UniTuple):
        name = "tuple"
    elif isinstance(kind, types.Number | types.Boolean | types.NoneType):
        return str(kind)
    else:
        return None
    parts = [encode_type(part) for part in kind.types]
    return None if None in parts else (name, *parts)


def decode_type(text: Any) -> Any:
    """Return the Numba type of a text or sequence from `encode_type`."""
    from numba import types

    if isinstance(text, list | tuple):
        parts = [decode_type(part) for part in text[1:]]
        if text[0] == "tuple":
            return types.Tuple(parts)
        made = _object(text[0])
        if len(set(parts)) == 1:
            return types.NamedUniTuple(parts[0], len(parts), made)
        return types.NamedTuple(parts, made)
    if "[" not in text:
        return getattr(types, text)
    dtype, _, shape = text.partition("[")
    dimensions, layout = shape[: shape.index("]")][:-1], shape[shape.index("]") - 1]
    return types.Array(getattr(types, dtype), int(dimensions), layout, readonly=shape.endswith("r"))


def is_cached(request: KernelRequest) -> bool:
    """Return whether the cache has a kernel, without importing the module that defines it."""
    try:
        types = tuple(map(decode_type, request.types))
        source = kernel_cache.module_file(request.kernel.rpartition(".")[0])
        return kernel_cache.is_cached(source, request.kernel, request.parallel, types)
    except (ImportError, AttributeError, OSError):  # a list of another version
        return False


def _object(name: str) -> Any:
    """Return a class or function by its full name; a class may be inside of another."""
    module, _, rest = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), rest)
    except ModuleNotFoundError:
        return getattr(_object(module), rest)


@contextlib.contextmanager
def recording() -> Iterator[dict[KernelRequest, float]]:
    """Record the kernels that are first called inside of the block, in order.

    Kernels whose arguments have no short form are left out.
    """
    found: dict[KernelRequest, float] = {}

    def note(kernel: str, parallel: bool, factory: tuple[str, ...], sig: tuple[Any, ...]) -> None:
        types = tuple(map(encode_type, sig))
        if None not in types:
            found.setdefault(KernelRequest(kernel, parallel, factory, types), 0.0)

    before = kernel_cache.listener
    kernel_cache.listener = note
    try:
        yield found
    finally:
        kernel_cache.listener = before


class Precompiler:
    """Compiles kernels in processes of their own, which end with this one.

    Args:
        requests: The kernels, those that are needed first first.
        jobs: Number of processes; by default one per processor.
        settings: Environment variables of the processes, besides those of this one.
    """

    def __init__(
        self,
        requests: Sequence[KernelRequest],
        jobs: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.total = len(requests)
        self.done = 0
        self.failed: list[str] = []
        self.measured: dict[KernelRequest, float] = {}  # processor time [s]
        self._todo = deque(requests)
        self._lock = threading.Lock()
        self._costs = sum(request.seconds for request in requests)
        self._finished_costs = 0.0
        self._start = time.perf_counter()
        count = max(1, min(jobs or os.cpu_count() or 1, MAX_JOBS, len(requests)))
        self._processes = [_start_worker(settings or {}) for _ in range(count)] if requests else []
        self._threads = [threading.Thread(target=self._feed, args=(p,), daemon=True) for p in self._processes]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        """Whether some kernels are still to be compiled."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def seconds_left(self) -> float:
        """Estimated time to the end [s], from the cost of the kernels and the speed so far."""
        passed = time.perf_counter() - self._start - START_SECONDS
        left = self._costs - self._finished_costs
        if self.done >= 2 * len(self._processes) and passed > 0.0:
            return left * passed / self._finished_costs
        return START_SECONDS + left / max(len(self._processes), 1)

    def wait(self, report: Callable[[int, int, float], None] | None = None) -> None:
        """Wait for the end and call `report(done, total, seconds left)` now and then; it may raise to stop."""
        try:
            while self.running:
                if report is not None:
                    report(self.done, self.total, self.seconds_left)
                time.sleep(_POLL)
            if report is not None and self.total:
                report(self.done, self.total, 0.0)
        finally:
            self.close()

    def close(self) -> None:
        """End the processes; kernels that they have begun are not finished."""
        self._todo.clear()
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # what was written last reaches nobody
                        pipe.close()

    def _feed(self, process: subprocess.Popen[str]) -> None:
        """Give requests to a process, one at a time, until there are none or it dies."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # the process died
            if process.stdout.readline().strip() != _READY:
                return
            while self._todo:
                try:
                    request = self._todo.popleft()
                except IndexError:
                    return
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline().strip()
                if not answer:
                    return
                seconds, _, error = answer.partition(" ")
                with self._lock:
                    self.done += 1
                    self.measured[request] = float(seconds)
                    self._finished_costs += request.seconds
                    if error:
                        self.failed.append(f"{request.kernel}: {error}")


def _start_worker(settings: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a process that compiles what it reads, with the same modules as this one."""
    root = str(Path(kernel_cache.__file__).resolve().parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from continua.numerics.precompile import serve; serve()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "CONTINUA_QUIET": "1", **settings},
    )


def serve() -> None:
    """Compile the requests on standard input, and answer each with a line: processor seconds, and an error if any."""
    from continua.numerics.kernel import dispatchers

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print does not mix with the answers
    requests: deque[str] = deque()
    arrived = threading.Semaphore(0)

    def read() -> None:
        for line in sys.stdin:
            requests.append(line)
            arrived.release()
        os._exit(0)  # the parent has closed the pipe or is gone

    threading.Thread(target=read, daemon=True).start()
    print(_READY, file=answers, flush=True)
    while arrived.acquire():
        start, error = time.process_time(), ""
        try:
            name, parallel, factory, types, _ = json.loads(requests.popleft())
            if factory:
                _object(factory[0])(*map(_object, factory[1:]))
            else:
                importlib.import_module(name.rpartition(".")[0])
            dispatchers[name, parallel].compile(tuple(map(decode_type, types)))
        except Exception as problem:  # the kernel is then compiled where it is called
            error = f" {type(problem).__name__}: {problem}".replace("\n", " ")[:200]
        print(f"{time.process_time() - start:.3f}{error}", file=answers, flush=True)
