"""The decorators that every compiled function of Continua uses, and the one place that sets Numba's options.

Why not plain `numba.njit`:

* The threading layer must be chosen before the first parallel call, or an installed TBB silently halves
  the speed of short kernels.
* Numba's cache does not see that a helper in another file changed: `kernel_cache` has another one.
* `fastmath=True` would let the compiler assume that no value is NaN, and so hide every test for it. We
  allow re-association and contraction but keep NaN and infinity honest.
* The first call of a kernel compiles it. Nobody should wonder why the program is silent: a listener prints
  one line, and a progress display may replace that line with its own (`on_compile`).
"""

from __future__ import annotations

import operator
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import event as _event

from continua.errors import InputError
from continua.numerics.compiler import KernelDispatcher
from continua.numerics.fork_safety import make_fork_safe
from continua.numerics.kernel_cache import KernelCache, cache_root

__all__ = [
    "compile_stats",
    "dispatchers",
    "get_threads",
    "inline",
    "instantiate",
    "kernel",
    "kernel_factory",
    "kernel_pair",
    "on_compile",
    "set_threads",
]

_config: Any = numba.config  # its options are set at run time, unseen by type checkers

# GNU OpenMP lets waiting threads spin for milliseconds. Beside any other busy program (a browser that shows the
# studio) every short parallel region then costs a time slice. A few microseconds bridge the gap between two regions:
# steps of 50,000 tets on two threads take 8.5 ms instead of 9.7 ms without spinning, and 15.8 ms instead of 14.9 ms
# beside a busy program (72 ms with a count of 10,000).
os.environ.setdefault("GOMP_SPINCOUNT", "300")
# All three must be named: Numba rejects a partial order.
_config.THREADING_LAYER_PRIORITY = ["omp", "workqueue", "tbb"]
make_fork_safe()  # after the choice of the threading layer, and before the first kernel is loaded

_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
_OPTIONS: dict[str, Any] = {"fastmath": _FASTMATH, "error_model": "numpy", "nogil": True}


@cache
def _report_unsaved(reason: str) -> None:
    if not os.environ.get("CONTINUA_QUIET"):
        text = f"continua: compiled kernels cannot be kept in {cache_root()} ({reason}) and compile again in each run"
        print(text, file=sys.stderr, flush=True)


dispatchers: dict[tuple[str, bool], KernelDispatcher] = {}
"""All kernels that modules have defined so far, by name and by whether their loops are parallel."""


def _compile(function: Callable, **options: Any) -> Any:
    source = Path(getattr(function, "cache_source", None) or function.__code__.co_filename)
    dispatcher: Any = KernelDispatcher(
        function, {"nopython": True, "boundscheck": None, **_OPTIONS, **options}
    )
    if source.is_file():  # what cache=True does, with a cache of our own
        parallel = bool(options.get("parallel"))
        dispatcher._cache = KernelCache(function, source.resolve(), parallel, _report_unsaved)
        dispatchers[dispatcher._cache.name, parallel] = dispatcher
    return dispatcher


def inline(function: Callable) -> Any:
    """Compile a small helper that LLVM must inline into its callers, so that their loops vectorise."""
    return _compile(function, forceinline=True)


def instantiate(template: Callable, source: str, name: str, **values: Any) -> Callable:
    """Return a copy of a function in which some global names have other values, to be compiled like any other.

    This is how one loop is compiled for several inner functions. Numba can cache such copies, but not kernels that get
    a function as an argument or from a closure.

    Args:
        template: The function.
        source: The file that the values come from; the copy is cached with its kernels.
        name: Name of the copy, unique among those of the template and the file.
        **values: Values of global names, which the module of the template must define.
    """
    unknown = values.keys() - template.__globals__.keys()
    if unknown:
        raise TypeError(f"{template.__name__} has no global names {', '.join(sorted(unknown))}")
    copy: Any = FunctionType(
        template.__code__, {**template.__globals__, **values}, name, template.__defaults__
    )
    copy.__qualname__ = name
    copy.__doc__ = template.__doc__
    copy.cache_source = source
    return copy


def kernel(function: Callable | None = None, *, parallel: bool = False) -> Any:
    """Compile a module-level function on arrays and scalars.

    With `parallel=True` its `prange` loops run on all threads. Let such a loop run over rows that each
    compute their own result, or over chunks of fixed size, so that the bits do not depend on the number
    of threads.
    """
    if function is None:
        return lambda f: kernel(f, parallel=parallel)
    return _compile(function, parallel=parallel)


class KernelPair:
    """The same source compiled twice: `serial` for little work, `parallel` for much.

    Starting a parallel region costs some microseconds, which a small mesh cannot repay. Which of the two
    is taken must depend on the size of the work alone, never on the number of threads.
    """

    def __init__(self, function: Callable) -> None:
        self.serial = _compile(function)
        self.parallel = _compile(function, parallel=True)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def variant(self, parallel: bool) -> Any:
        """Return the parallel or the serial variant."""
        return self.parallel if parallel else self.serial


def kernel_factory(make: Callable[[type], KernelPair]) -> Callable[[type], KernelPair]:
    """Mark a function that makes kernels for a class: it is called once for each class, also in other processes."""

    @cache
    @wraps(make)
    def made(kind: type) -> KernelPair:
        pair = make(kind)
        for variant in (pair.serial, pair.parallel):
            variant._cache.factory = (_full_name(make), _full_name(kind))
        return pair

    return made


def _full_name(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


def kernel_pair(function: Callable) -> KernelPair:
    """Compile `function` serially and in parallel on demand; call `pair.variant(parallel)(...)`."""
    return KernelPair(function)


def set_threads(count: int) -> None:
    """Use `count` threads for parallel kernels from now on. Results do not depend on it."""
    limit = _config.NUMBA_NUM_THREADS
    try:
        number = operator.index(count)
    except TypeError:
        number = 0
    if isinstance(count, bool) or not 1 <= number <= limit:
        raise InputError(
            f"the number of threads must be a whole number from 1 to {limit} on this machine, not {count!r}"
        )
    numba.set_num_threads(number)


def get_threads() -> int:
    """Return how many threads parallel kernels use."""
    return numba.get_num_threads()


class _Listener(_event.Listener):
    """Counts real compilations (a load from the cache is none) and announces the first."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.announce: Callable[[str], None] | None = None
        self._depth = 0
        self._start = 0.0

    def on_start(self, event: Any) -> None:
        name = event.data["dispatcher"].py_func
        if not name.__module__.startswith("continua."):
            return
        if self._depth == 0:
            self._start = time.perf_counter()
            (self.announce or self._print)(name.__name__)
        self._depth += 1
        self.count += 1

    def on_end(self, event: Any) -> None:
        if self._depth:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._start

    def _print(self, _name: str) -> None:
        if self.count == 0 and not os.environ.get("CONTINUA_QUIET"):
            print("continua: compiling kernels (once) ...", file=sys.stderr, flush=True)


_listener = _Listener()
_event.register("numba:compile", _listener)


@contextmanager
def on_compile(announce: Callable[[str], None]) -> Iterator[None]:
    """Call `announce(kernel_name)` for each kernel that has to be compiled inside the `with` block."""
    before = _listener.announce
    _listener.announce = announce
    try:
        yield
    finally:
        _listener.announce = before


def compile_stats() -> tuple[int, float]:
    """Return how many functions this process compiled, and the seconds it took."""
    return _listener.count, _listener.seconds
