"""`continua warmup`: compiles kernels in advance, and exports and imports compiled ones."""

from __future__ import annotations

import shutil
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from continua.atomic_io import atomic_path, atomic_write
from continua.cli.formatting import time_text
from continua.errors import InputError
from continua.numerics.kernel_cache import FAMILIES, cache_root, families, family_settings
from continua.numerics.precompile import KernelRequest, Precompiler, is_cached
from continua.scene import load_scene
from continua.scene.kernel_plan import all_kernels, expected_kernels
from continua.validation import pluralize

__all__ = ["compile_for", "export_kernels", "import_kernels", "kernels_of", "warm_up"]

_PREFIX, _SUFFIX = "kernels-", ".nbc"


def kernels_of(scenes: Sequence[str]) -> list[KernelRequest]:
    """Return the kernels of some scenes, or of all shipped ones."""
    if not scenes:
        return all_kernels()
    return list(dict.fromkeys(one for name in scenes for one in expected_kernels(load_scene(name))))


def warm_up(scenes: Sequence[str] = (), jobs: int | None = None) -> None:
    """Compile the kernels of scenes that the cache does not have, in several processes.

    Args:
        scenes: Names or files; all shipped scenes by default.
        jobs: Number of processes; by default one per processor.
    """
    wanted = kernels_of(scenes)
    missing = [request for request in wanted if not is_cached(request)]
    if not missing:
        print(f"all {len(wanted)} kernels were compiled already")
        return
    _compile(Precompiler(missing, jobs))


def compile_for(
    family: str, folder: Path, requests: Sequence[KernelRequest], jobs: int | None = None
) -> None:
    """Compile kernels for a family of processors into an empty folder."""
    if family not in FAMILIES:
        raise InputError(f"there is no processor family '{family}'; choose from {', '.join(FAMILIES)}")
    names = [name for _, name, _ in families()]
    if family_settings(family)["NUMBA_CPU_NAME"] not in names:
        raise InputError(f"this machine cannot compile for '{family}'; its families are {', '.join(names)}")
    _compile(Precompiler(requests, jobs, {"CONTINUA_CACHE": str(folder), **family_settings(family)}))


def export_kernels(target: Path, family: str, scenes: Sequence[str] = (), jobs: int | None = None) -> None:
    """Compile kernels for a family of processors and write them to a ZIP file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        compile_for(family, folder, kernels_of(scenes), jobs)
        files = sorted(path for path in folder.rglob(f"*{_SUFFIX}"))
        with atomic_path(target) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.relative_to(folder).as_posix())
    print(f"{target}: {pluralize(len(files), 'kernel')} for {family}")


def import_kernels(source: Path) -> None:
    """Copy the kernels of a ZIP file from `export_kernels` into the cache; nothing else is accepted."""
    try:
        with zipfile.ZipFile(source) as archive:
            if damaged := archive.testzip():
                raise InputError(f"{source}: '{damaged}' is damaged; export the kernels again")
            for name in archive.namelist():
                parts = PurePosixPath(name).parts
                if len(parts) != 2 or not (parts[0].startswith(_PREFIX) and parts[1].endswith(_SUFFIX)):
                    raise InputError(
                        f"{source}: '{name[:80]}' is not a compiled kernel; nothing was imported"
                    )
            for name in archive.namelist():
                path = cache_root().joinpath(*PurePosixPath(name).parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as entry, atomic_write(path) as file:
                    shutil.copyfileobj(entry, file)
            print(f"{cache_root()}: imported {pluralize(len(archive.namelist()), 'kernel')}")
    except zipfile.BadZipFile:
        raise InputError(f"{source}: is no file from `continua warmup --export`") from None


def _compile(compiler: Precompiler) -> None:
    start = time.perf_counter()
    compiler.wait(_reporter())
    if sys.stderr.isatty():
        _say("")
    for problem in compiler.failed:
        print(f"not compiled: {problem}", file=sys.stderr)
    print(
        f"compiled {pluralize(compiler.done - len(compiler.failed), 'kernel')} in "
        f"{time_text(time.perf_counter() - start)} ({sum(compiler.measured.values()):.0f} s of processor time)"
    )


def _reporter() -> Callable[[int, int, float], None]:
    """Return a function that shows progress: often in a terminal, every 10 s in a log."""
    last = [0.0]

    def report(done: int, total: int, seconds_left: float) -> None:
        now = time.monotonic()
        if now - last[0] >= (0.2 if sys.stderr.isatty() else 10.0):
            last[0] = now
            _say(f"compiling kernels   {done} of {total}   about {time_text(seconds_left)} left")

    return report


def _say(text: str) -> None:
    """Show a line of progress: over the last one in a terminal, below it in a log."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text:<{width}}"[: width + 1], end="" if text else "\r", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
