"""Shipped scenes with seeded mutations: each is built, or refused in a few sentences; no other exception may come out.

A mutation changes the data of a scene (values of other types and sizes, keys and entries that are removed, renamed,
repeated or taken from another scene, options that other models have) or its text (cut, garbage, deep nesting,
aliases that multiply). The scene is then read, summarised as by `continua info`, and built, unless it would need too
much memory.

Run: python -m validation.scene_fuzz [COUNT] [--first SEED] [--show]
"""

from __future__ import annotations

import argparse
import copy
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from continua.cli.progress import Progress
from continua.errors import ContinuaError
from continua.registry import body_kind
from continua.scene import Scene, load_scene, parse_scene, shipped_scenes

COUNT = 5000
MAX_MEMORY = 300e6  # estimated bytes of a scene that is built here
MAX_SECONDS = 30
MAX_MESSAGE = 20_000
NUMBERS = [0, -1, 1, 2, 3, 7, 1000, 100_000, 2**31, 2**63, 10**30, 10**400, 0.0, -0.0, 0.5, 1e-3, 1e-9, 1e-300, 5e-324,
           1e6, 1e9, -1e9, 1e16, 1e300, float("nan"), float("inf"), float("-inf")]  # fmt: skip
VALUES = [None, True, False, "", "x", "left", "all", "y", "1e6", "é\u202e\x7f", "x" * 5000, "../../etc", "/dev/zero",
          "a\0b", "#ff0000", "2020-01-01", [], {}, [[]], [1], [1, 2, 3], [0, 0, 0], [1e-300, 0, 0], [float("nan")] * 3,
          [1e300] * 3, {"type": "box"}, {"type": "sphere"}, {"type": None}, {"x": 1}, {"a": {"b": [1]}}]  # fmt: skip
KINDS_OF_CHANGES = [*["value"] * 3, *["scale"] * 5, "delete", "repeat", "rename", "graft", "option", "wrap"]
KEYS = ["", "x", "type", "name", "k" * 5000, "<<", "123", "null", "é", "a.b", "bodies", "path"]


@dataclass(frozen=True)
class Outcome:
    """What became of a scene: "built", "refused", "large" or "failed"; of one that took too long or failed, where."""

    kind: str
    text: str = ""


class TooLongError(Exception):
    """A scene took too long."""


@cache
def data_of(name: str) -> Any:
    """Return the data of a shipped scene."""
    return load_scene(name).model_dump(mode="json", exclude_unset=True)


@cache
def known_options() -> list[tuple[str, dict[str, Any]]]:
    """Return the names and schemas of all options of all models."""
    schema = Scene.model_json_schema()
    models = [schema, *schema["$defs"].values()]
    return [(name, about) for model in models for name, about in model.get("properties", {}).items()]


def places(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys of all values in nested mappings and lists."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from places(value, (*above, key))


def at(data: Any, place: tuple[Any, ...]) -> Any:
    """Return the value at a place."""
    for key in place:
        data = data[key]
    return data


def some_value(chance: random.Random) -> Any:
    """Return a value that is wrong at most places."""
    return copy.deepcopy(chance.choice(NUMBERS if chance.random() < 0.6 else VALUES))


def mutate_data(data: Any, chance: random.Random) -> None:
    """Change one thing of a scene's data in place."""
    known = list(places(data))
    if not known:
        return
    place = chance.choice(known)
    around, key = at(data, place[:-1]), place[-1]
    match chance.choice(KINDS_OF_CHANGES):
        case "value":
            around[key] = some_value(chance)
        case "scale":
            numbers = [p for p in known if isinstance(at(data, p), int | float)]
            place = chance.choice(numbers or known)
            around, key = at(data, place[:-1]), place[-1]
            if numbers:
                around[key] = around[key] * chance.choice([-1, 0, 1e-6, 1e-3, 0.3, 0.7, 1.5, 3.0, 1e3, 1e6])
        case "delete":
            del around[key]
        case "repeat":
            if isinstance(around, list):
                around[key:key] = copy.deepcopy([around[key]] * chance.choice([1, 1, 2, 40]))
        case "rename":
            if isinstance(around, dict):
                around[chance.choice([*KEYS, f"{key}s", str(key)[1:]])] = around.pop(key)
        case "graft":
            other = data_of(chance.choice(list(shipped_scenes())))
            around[key] = copy.deepcopy(at(other, chance.choice(list(places(other)))))
        case "option":
            name, about = chance.choice(known_options())
            mappings = [p for p in known if isinstance(at(data, p), dict)] or [()]
            target = at(data, chance.choice(mappings))
            target[name] = (
                about.get("default", some_value(chance)) if chance.random() < 0.3 else some_value(chance)
            )
        case "wrap":
            around[key] = chance.choice([[around[key]], {str(key): around[key]}, [around[key]] * 3])


def mutate_text(text: str, chance: random.Random) -> str:
    """Return the text of a scene with one part damaged."""
    cut = chance.randrange(len(text))
    match chance.choice(["cut", "letter", "swap", "deep", "laughs", "long"]):
        case "cut":
            return text[:cut]
        case "letter":
            return (
                text[:cut] + chance.choice(":{}[],#&*!|>'\"%@\t\n\x00é- \ud800\U0001f600") + text[cut + 1 :]
            )
        case "swap":
            other = chance.randrange(len(text))
            return text[:cut] + text[other : other + 40] + text[cut:]
        case "deep":
            depth = chance.choice([30, 50, 1000, 100_000])
            return f"{text}\nx: {'[' * depth}" + chance.choice(["", "]" * depth])
        case "laughs":
            lines = ["l0: &l0 [x, x, x, x, x, x, x, x]"]
            lines += [
                f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, chance.choice([3, 9, 30]))
            ]
            return text + "\n" + "\n".join(lines)
    return text + "\n" + "k" * 5000 + ": " + "v" * 5000


def mutated(seed: int) -> tuple[str, str | bytes]:
    """Return the name of a shipped scene, and what the mutations of a seed make of its text."""
    chance = random.Random(seed)
    name = chance.choice(list(shipped_scenes()))
    if chance.random() < 0.02:
        return name, chance.randbytes(chance.choice([1, 10, 1000]))
    if chance.random() < 0.15:
        return name, mutate_text(shipped_scenes()[name].read_text(encoding="utf-8"), chance)
    data = copy.deepcopy(data_of(name))
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        mutate_data(data, chance)
    return name, yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def load(name: str, made: str | bytes) -> Scene:
    """Read a mutated scene; file names in it are relative to the shipped ones."""
    if isinstance(made, str):
        return parse_scene(made, path=shipped_scenes()[name], label="scene.yaml")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_bytes(made)
        return load_scene(path)


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TooLongError in the block after some time, where the system has alarms."""

    def end(*_: object) -> None:
        raise TooLongError

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def trial(seed: int) -> Outcome:
    """Read and build the scene of a seed."""
    name, made = mutated(seed)
    try:
        with warnings.catch_warnings(), limited(MAX_SECONDS):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # told to the user on purpose
            scene = load(name, made)
            memory = sum(body_kind(body).summary_of(scene, i).memory for i, body in enumerate(scene.bodies))
            if memory > MAX_MEMORY:
                return Outcome("large")
            scene.build()
    except ContinuaError as error:
        if len(str(error)) > MAX_MESSAGE or not str(error).strip():
            return Outcome("failed", f"a message of {len(str(error))} letters")
        return Outcome("refused")
    except (MemoryError, TooLongError) as error:
        return Outcome("large", f"{type(error).__name__} ({_place(error)})")
    except Exception as error:
        return Outcome("failed", f"{type(error).__name__}: {str(error)[:100]} ({_place(error)})")
    return Outcome("built")


def _place(error: BaseException) -> str:
    """Return the line of Continua in which an exception came up."""
    lines = [line for line in traceback.extract_tb(error.__traceback__) if "continua" in line.filename]
    return f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else ""


def main() -> int:
    """Try the scenes of many seeds; return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", action="store_true", help="print each scene that failed")
    options = parser.parse_args()
    progress, found = Progress(1.0), Counter[str]()
    failed: dict[int, str] = {}
    with progress.shown():
        for done, seed in enumerate(range(options.first, options.first + options.count)):
            progress.stage("mutations", done, options.count)
            outcome = trial(seed)
            found[outcome.kind] += 1
            if outcome.kind == "failed":
                failed[seed] = outcome.text
            if outcome.text:
                progress.say(f"seed {seed}, {mutated(seed)[0]}: {outcome.kind}: {outcome.text}")
                if options.show:
                    print(mutated(seed)[1])
    print(
        f"{options.count} mutations: " + ", ".join(f"{count} {kind}" for kind, count in found.most_common())
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
