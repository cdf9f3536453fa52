"""The cache of compiled kernels: one file per kernel, signature and processor, in a folder keyed by source.

Why not Numba's own cache:

* It does not see that a helper in another file changed. Here the folder's name is a digest of the kernel's file and of
  all files it imports, so a change of any of them selects another folder.
* It keys entries by the path of the source file. Here only the contents count, so that a cache can be copied to
  another machine, and clones of one version share it.
* It numbers the entries of a function in an index that several processes may write at the same time. Here an entry's
  name is a digest of its key, and the key is stored in it: there is no index.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import compiler, serialize

__all__ = [
    "COMPILED_KERNELS",
    "FAMILIES",
    "KernelCache",
    "cache_root",
    "families",
    "family_settings",
    "is_cached",
    "module_file",
    "module_name",
    "source_key",
]

_PACKAGE = Path(__file__).resolve().parent.parent
_UNCOMPILED = (
    "errors.py",
    *(f"numerics/{name}.py" for name in ("compiler", "fork_safety", "kernel", "kernel_cache")),
)
COMPILED_KERNELS = _PACKAGE / "compiled_kernels"
"""Kernels that came with the installation; a pure wheel has none."""

FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "x86-64-v3": ("x86_64", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
    "x86-64-v2": ("x86_64", ("cx16", "popcnt", "sahf", "sse4.2", "ssse3")),
    "arm64": ("aarch64", ()),
}
"""Families of processors, the most capable first: machine, and features that a processor of the family has."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(continua[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(continua[\w.]*))",
    re.M,
)


def cache_root() -> Path:
    """Return the folder for compiled kernels: $CONTINUA_CACHE, or the user's cache folder."""
    if own := os.environ.get("CONTINUA_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "continua"


@cache
def _imports(file: Path) -> frozenset[Path]:
    """Return the files of Continua that `file` imports; for a file of another project also its neighbours."""
    found = set()
    for package, names, module in _IMPORT.findall(file.read_text("utf-8")):
        base = _PACKAGE.parent.joinpath(*(package or module).split("."))
        found |= {base.with_suffix(".py"), base / "__init__.py"}
        found |= {base / f"{name}.py" for name in re.findall(r"\w+", names)}
    if not file.is_relative_to(_PACKAGE):
        found |= set(file.parent.glob("*.py"))
    return frozenset(path for path in found if path.is_file()) - {_PACKAGE / name for name in _UNCOMPILED}


@cache
def _file_digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


@cache
def source_key(file: Path) -> str:
    """Return a name that changes whenever `file` or a file changes that it imports, directly or not."""
    closure, todo = {file}, [file]
    while todo:
        new = _imports(todo.pop()) - closure
        closure |= new
        todo += new
    digest = hashlib.sha256()
    for path in sorted(closure, key=lambda path: (path.name, _file_digest(path))):
        digest.update(path.name.encode() + _file_digest(path))
    module = ".".join(file.with_suffix("").parts[-2:])
    return f"kernels-{module}-{digest.hexdigest()[:16]}"


def module_file(module: str) -> Path:
    """Return the file of a module of this package."""
    base = _PACKAGE.parent.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def module_name(file: Path) -> str:
    """Return the name of the module in a file; for a file of another project its own name."""
    if not file.is_relative_to(_PACKAGE):
        return file.stem
    return ".".join(file.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def is_cached(source: Path, name: str, parallel: bool, types: tuple[Any, ...]) -> bool:
    """Return whether there is an entry for a kernel of this package, without importing its module."""
    entry = name.rpartition(".")[2]
    return any(path.is_file() for path in _entries(source_key(source), entry, parallel, types))


def _entries(folder: str, name: str, parallel: bool, types: object) -> Iterator[Path]:
    """Return where the entry of a kernel may be: compiled for this processor, or for its family."""
    for processor in (_processor(), *families()):
        file = _entry_name(name, parallel, types, processor)
        for root in (cache_root(), COMPILED_KERNELS):
            yield root / folder / file


def _entry_name(name: str, parallel: bool, types: object, processor: object) -> str:
    key = (str(types), processor, numba.__version__, sys.version_info[:2], parallel, _compiler_digest())
    return f"{name}.{hashlib.sha256(str(key).encode()).hexdigest()[:20]}.nbc"


@cache
def _processor() -> tuple[object, ...]:
    """Return what Numba knows of this processor."""
    from numba.core.registry import cpu_target

    return cpu_target.target_context.codegen().magic_tuple()


@cache
def families() -> tuple[tuple[str, str, str], ...]:
    """Return the families that this processor belongs to, the most capable first, as Numba knows them."""
    system = str(_processor()[0])
    features = {name for name, on in llvm.get_host_cpu_features().items() if on}
    fitting = [
        name
        for name, (machine, needed) in FAMILIES.items()
        if system.startswith(machine) and features.issuperset(needed)
    ]
    return tuple((system, "generic" if name == "arm64" else name, "") for name in fitting)


def family_settings(name: str) -> dict[str, str]:
    """Return the environment variables with which kernels are compiled for a family of processors."""
    return {"NUMBA_CPU_NAME": "generic" if name == "arm64" else name, "NUMBA_CPU_FEATURES": ""}


@cache
def _compiler_digest() -> str:
    """Return a digest of how kernels are compiled."""
    names = ("compiler.py", "kernel.py")
    return hashlib.sha256(
        b"".join(_file_digest(Path(__file__).with_name(name)) for name in names)
    ).hexdigest()


class KernelCache:
    """Compiled variants of one function, in the form that Numba's dispatchers call.

    Args:
        function: The Python function.
        source: The file that it is cached with.
        parallel: Whether its loops are parallel.
        unsaved: Called with a reason if an entry cannot be saved; this is no error.
    """

    def __init__(self, function: Any, source: Path, parallel: bool, unsaved: Callable[[str], None]) -> None:
        self.name = f"{module_name(source)}.{function.__qualname__}"
        self.factory: tuple[str, ...] = ()
        self._parallel = parallel
        self._folder = source_key(source)
        self._unsaved = unsaved
        code = function.__code__
        self._code = hashlib.sha256(code.co_code + repr(code.co_consts[:1]).encode()).hexdigest()
        self._entry = function.__qualname__.rpartition(".")[2]
        if "<" in function.__qualname__:  # functions inside of others can share a name
            self._entry = f"{self._entry.strip('<>')}-{code.co_firstlineno}-{self._code[:8]}"

    @property
    def cache_path(self) -> str:
        """The folder of the entries."""
        return str(cache_root() / self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, or None."""
        if listener is not None and isinstance(sig, tuple):
            listener(self.name, self._parallel, self.factory, sig)
        target_context.refresh()
        for path in _entries(self._folder, self._entry, self._parallel, sig):
            payload = _read(path, self._code)
            if payload is not None:
                return compiler.CompileResult._rebuild(target_context, *payload)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function for a signature."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        path = cache_root() / self._folder / _entry_name(self._entry, self._parallel, sig, _processor())
        try:
            _write(path, serialize.dumps((self._code, data._reduce())))
        except OSError as error:
            self._unsaved(str(error.strerror or error))

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""

    def flush(self) -> None:
        """Do nothing: entries never become invalid."""


listener: Callable[[str, bool, tuple[str, ...], tuple[Any, ...]], None] | None = None
"""Called with each kernel that is loaded or compiled: its name, whether it is parallel, its factory and types."""


def _read(path: Path, code: str) -> Any:
    """Return the payload of an entry, or None if there is none that can be read and belongs to this code."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        stored, payload = pickle.loads(data)
    except Exception:  # a damaged entry can raise anything; it is compiled again and overwritten
        return None
    return payload if stored == code else None


def _write(path: Path, data: bytes) -> None:
    """Write a file under another name and rename it, so that no process ever reads a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    try:
        aside.write_bytes(data)
        aside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
