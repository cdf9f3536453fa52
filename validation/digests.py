"""Digests of short runs of the shipped scenes, to show that a change of the code left all results bitwise identical.

`record` runs each scene for a few steps and writes sha256 digests of the last frame; `compare` runs the scenes again
and lists what differs. Only frames are read, no internal state, and the arrays of a body are compared as a set, so that
attributes and fields may be renamed in between. Positions of some nodes are kept in an .npz file beside the digests, to
measure the size of a difference. The last bits may differ between processor types: use the same machine for both. They
may also differ in the process that compiles a kernel: after a change of the code run once to fill the cache first.

Run: python -m validation.digests record FILE.json [NAMES ...] [--threads N]
     python -m validation.digests compare FILE.json [NAMES ...] [--threads N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import continua as ct
from continua.numerics import compile_stats
from continua.scene import load_scene, shipped_scenes

STEPS = {
    "arm": 80, "beam": 120, "bridge": 240, "bunny-bath": 80, "clay": 80, "cushion": 60, "dam-break": 60, "domino": 240,
    "double-dam": 60, "droplet": 24, "floating-bodies": 60, "gears": 160, "grid-dam-break": 50,
    "grid-floats": 40, "hanging-bar": 240, "honey": 120, "horse": 60, "image-drag": 60, "incline": 120,
    "jelly-in-water": 112, "jelly": 160, "karman": 240, "laws": 240, "marbles": 100, "muscle": 120,
    "newton-cradle": 480, "puddle": 240, "rotating-sphere": 60, "smoke-sphere": 40, "split-block": 120, "squeeze": 72,
    "stairs": 80, "tori-pile": 80, "torsion-orders": 600, "torsion": 680, "towers": 240, "water-wheel": 210,
    "wind-tunnel-car": 24,
}  # fmt: skip
"""Steps per scene, rounded up to whole frames: a few seconds each, with the first contact, splash or release."""

DEFAULT_STEPS = 12
BODIES = 4  # per scene, whose positions are kept
NODES = 1000  # per body, whose positions are kept


@dataclass
class Run:
    """The end of a short run of a scene.

    Attributes:
        digests: Digest of every array of the last frame by label, "body/attribute/...".
        positions: Node positions [m] of the first bodies by name.
        steps: Number of steps done.
        time: Simulated time [s].
        seconds: Wall time [s] of building, stepping and hashing.
        processor_seconds: Processor time [s] of the same, the sum over all threads.
        compiled: Number of functions that were compiled for it instead of loaded from the cache.
        warnings: Warnings of all steps with the number of times each was given.
    """

    digests: dict[str, str]
    positions: dict[str, NDArray[np.float64]]
    steps: int
    time: float
    seconds: float
    processor_seconds: float
    compiled: int
    warnings: dict[str, int]


def run(name: str) -> Run:
    """Run a shipped scene for its number of steps and return the digests of the last frame."""
    start, busy, known = perf_counter(), process_time(), compile_stats()[0]
    scene = load_scene(name)
    world = scene.build()
    warnings: Counter[str] = Counter()

    def count(_world: ct.World, reports: Any) -> None:
        for report in reports:
            warnings.update(_without_digits(f"{report.body}: {text}") for text in report.warnings)

    wanted = STEPS.get(name, DEFAULT_STEPS)
    for frame in world.run(scene.seconds, scene.fps, progress=count):
        if frame.step >= wanted:
            break
    parts = {"world": (frame.time, frame.step, frame.colliders, frame.joints), **frame.bodies}
    digests = {label: _digest(array) for key, part in parts.items() for label, array in arrays(part, key)}
    positions = {key: np.array(body.positions[:NODES]) for key, body in list(frame.bodies.items())[:BODIES]}
    spent = perf_counter() - start, process_time() - busy
    compiled = compile_stats()[0] - known
    return Run(digests, positions, frame.step, frame.time, *spent, compiled, dict(warnings))


def arrays(value: Any, label: str) -> Iterator[tuple[str, NDArray]]:
    """Yield all numbers inside a value as arrays with their labels; text is skipped.

    Attributes of dataclasses and items of mappings are found without their names being known. Of a body's fields
    those that are computed on demand are computed.
    """
    if isinstance(value, np.ndarray):
        yield label, value
    elif isinstance(value, bool | int | float | np.generic):
        yield label, np.asarray(value)
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays(getattr(value, field.name), f"{label}/{field.name}")
    elif isinstance(value, Mapping):
        # `units` of a body's fields also names those that are computed on demand
        for key in dict.fromkeys((*getattr(value, "units", ()), *value)):
            yield from arrays(value[key], f"{label}/{key}")
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from arrays(item, f"{label}/{number}")
    elif value is not None and not isinstance(value, str):
        raise TypeError(f"{label}: no digest of a {type(value).__name__}")


def summary(digests: Mapping[str, str]) -> str:
    """Return one digest of all arrays, which depends on the names of bodies but not on those of attributes."""
    pairs = sorted((label.split("/")[0], digest) for label, digest in digests.items())
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the labels of recorded arrays that are not there any more, and of arrays that were not recorded.

    An array is identified by its body and its contents, so one that was only renamed is in neither list.
    """
    old, new = Counter(map(_identity, before.items())), Counter(map(_identity, after.items()))
    gone, added = old - new, new - old
    return _labels(before, gone), _labels(after, added)


def _identity(item: tuple[str, str]) -> tuple[str, str]:
    label, digest = item
    return label.split("/")[0], digest


def _labels(digests: Mapping[str, str], wanted: Counter[tuple[str, str]]) -> list[str]:
    return [label for label, digest in digests.items() if _identity((label, digest)) in wanted]


def deviation(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the largest difference of positions, relative to the size of the body; infinite if counts differ."""
    if before.shape != after.shape:
        return float("inf")
    if not len(before):
        return 0.0
    size = float(np.linalg.norm(np.ptp(before, axis=0))) or float(np.abs(before).max()) or 1.0
    return float(np.abs(after - before).max()) / size


def _digest(array: NDArray) -> str:
    data = np.ascontiguousarray(array)
    about = f"{data.dtype.str} {data.shape} ".encode()
    return hashlib.sha256(about + data.tobytes()).hexdigest()


def _without_digits(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def record(file: Path, names: list[str]) -> int:
    """Run scenes and write their digests; return 1 if a scene failed."""
    scenes: dict[str, Any] = {}
    positions: dict[str, NDArray[np.float64]] = {}
    total, failed = perf_counter(), 0
    for name in names:
        result = _attempt(name)
        if isinstance(result, Run):
            positions |= {f"{name}/{body}": array for body, array in result.positions.items()}
            scenes[name] = {
                "sha256": summary(result.digests),
                "steps": result.steps,
                "time": result.time,
                "seconds": round(result.seconds, 2),
                "processor_seconds": round(result.processor_seconds, 2),
                "compiled": result.compiled,
                "warnings": result.warnings,
                "digests": result.digests,
            }
        else:
            failed += 1
            scenes[name] = {"error": result}
    _advise()
    about = {
        "processor": processor(),
        "threads": ct.get_threads(),
        "numba": _version("numba"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**about, "scenes": scenes}, indent=1) + "\n")
    np.savez_compressed(file.with_suffix(".npz"), **positions)
    print(f"{len(scenes) - failed} scenes recorded in {perf_counter() - total:.0f} s: {file}")
    return int(failed > 0)


def compare(file: Path, names: list[str]) -> int:
    """Run scenes again and print what differs from the file; return 1 if anything does.

    New arrays are listed but are no difference: a frame may have more attributes than before.
    """
    recorded = json.loads(file.read_text())
    if recorded["processor"] != processor():
        print(f"recorded on another processor ({recorded['processor']}): last bits may differ")
    with np.load(file.with_suffix(".npz")) as saved:
        kept = dict(saved)
    different = 0
    for name in names:
        before = recorded["scenes"].get(name)
        if before is None:
            print(f"{name:18} was not recorded")
            different += 1
            continue
        result = _attempt(name)
        if isinstance(result, Run) and "error" not in before:
            gone, added = differences(before["digests"], result.digests)
            lines = [f"{label} {'differs' if label in added else 'is missing'}" for label in gone]
            lines += [f"{label} is new" for label in added if label not in gone]
            if gone:
                lines += _deviations(name, kept, result.positions)
            verdict = "DIFFERENT" if gone else "equal"
        else:
            now = "runs" if isinstance(result, Run) else result
            lines = [f"before: {before.get('error', 'ran')}", f"now: {now}"]
            verdict = "equal" if before.get("error") == now else "DIFFERENT"
        print(f"{'':18} {verdict}", *lines, sep="\n    ", flush=True)
        different += verdict != "equal"
    print(f"{len(names) - different} of {len(names)} scenes are equal")
    _advise()
    return int(different > 0)


def _deviations(name: str, kept: Mapping[str, NDArray], positions: Mapping[str, NDArray]) -> list[str]:
    """Return a line for each body whose positions were kept: by how much they are off."""
    lines = []
    for body, now in positions.items():
        before = kept.get(f"{name}/{body}")
        if before is not None:
            lines.append(f"{body}: positions differ by {deviation(before, now):.2e} of the body's size")
    return lines


def _attempt(name: str) -> Run | str:
    """Run a scene and print a line; return the error's text if it fails."""
    start = perf_counter()
    try:
        result = run(name)
    except Exception as error:  # the other scenes are still of interest
        text = f"{type(error).__name__}: {error}"
        print(f"{name:18} {perf_counter() - start:6.1f} s  FAILED: {text}", flush=True)
        return text
    given = sum(result.warnings.values())
    text = f", {given} warnings" if given else ""
    text += f", {result.compiled} functions compiled" if result.compiled else ""
    print(
        f"{name:18} {result.seconds:6.1f} s ({result.processor_seconds:.1f} s of processor time)  "
        f"{result.steps} steps to {result.time:.3f} s, "
        f"{len(result.digests)} arrays{text}",
        flush=True,
    )
    return result


def _advise() -> None:
    """Say that kernels were compiled, if so."""
    if count := compile_stats()[0]:
        print(f"{count} functions were compiled in this run: repeat it, now that they are in the cache")


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def main() -> int:
    """Record or compare; 1 if a scene failed or differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, help="JSON file; positions go to an .npz file beside it")
    parser.add_argument("names", nargs="*", help="shipped scenes; by default all")
    parser.add_argument("--threads", type=int, help="threads of parallel kernels")
    asked = parser.parse_args()
    if asked.threads is not None:
        ct.set_threads(asked.threads)
    names = asked.names or list(shipped_scenes())
    return (record if asked.action == "record" else compare)(asked.file, names)


if __name__ == "__main__":
    sys.exit(main())
