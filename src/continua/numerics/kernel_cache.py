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
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import compiler, serialize

__all__ = ["KernelCache", "cache_root", "source_key"]

_PACKAGE = Path(__file__).resolve().parent.parent
_UNCOMPILED = ("errors.py", "numerics/kernel.py", "numerics/kernel_cache.py")  # nothing of these is compiled
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


class KernelCache:
    """Compiled variants of one function, in the form that Numba's dispatchers call.

    Args:
        function: The Python function.
        folder: Name of its folder in the cache, from `source_key`.
        options: The options it is compiled with.
        unsaved: Called with a reason if an entry cannot be saved; this is no error.
    """

    def __init__(
        self, function: Any, folder: str, options: Iterable[object], unsaved: Callable[[str], None]
    ) -> None:
        self._name = f"{function.__qualname__}-{function.__code__.co_firstlineno}".replace("<", "").replace(
            ">", ""
        )
        self._folder = folder
        self._unsaved = unsaved
        self._key = (
            numba.__version__,
            sys.version_info[:2],
            tuple(options),
            hashlib.sha256(function.__code__.co_code).hexdigest(),
        )

    @property
    def cache_path(self) -> str:
        """The folder of the entries."""
        return str(cache_root() / self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, or None."""
        target_context.refresh()
        key = self._full_key(sig, target_context.codegen())
        payload = _read(cache_root() / self._folder / self._file_name(key), key)
        return None if payload is None else compiler.CompileResult._rebuild(target_context, *payload)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function for a signature."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        key = self._full_key(sig, data.codegen)
        path = cache_root() / self._folder / self._file_name(key)
        try:
            _write(path, serialize.dumps((key, data._reduce())))
        except OSError as error:
            self._unsaved(str(error.strerror or error))

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""

    def flush(self) -> None:
        """Do nothing: entries never become invalid."""

    def _full_key(self, sig: Any, codegen: Any) -> tuple[object, ...]:
        return (sig, codegen.magic_tuple(), *self._key)

    def _file_name(self, key: tuple[object, ...]) -> str:
        return f"{self._name}.{hashlib.sha256(str(key).encode()).hexdigest()[:20]}.nbc"


def _read(path: Path, key: tuple[object, ...]) -> Any:
    """Return the payload of an entry, or None if there is none that can be read and has this key."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        stored, payload = pickle.loads(data)
    except Exception:  # a damaged entry can raise anything; it is compiled again and overwritten
        return None
    return payload if stored == key else None


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
