"""Runs of the shipped scenes, killed (SIGKILL) at random times and resumed: every file must be bitwise identical.

A trial takes a scene, runs it once without interruption, then again in another folder: started, killed at random times
one to three times, each time resumed with another number of threads, and brought to its end. Formats with a file per
frame, one that is written at the end, and the last checkpoint are compared byte by byte.

Run: python -m validation.kills [KILLS] [--seed N] [--scenes NAME ...] [--seconds S] [--limit S]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from time import perf_counter

from continua.scene import load_scene, shipped_scenes

FRAMES = 12
MAX_PROCESSES = 10  # per trial; most end by a kill


@dataclass
class Outcome:
    """The outcome of a trial: kills that hit a running process, whether all files are identical, and one sentence."""

    kills: int
    good: bool
    text: str


class FailedRunError(Exception):
    """A run ended with an error."""


def command(name: str, folder: Path, threads: int, seconds: float, *more: str) -> list[str]:
    """Return the command line of a run."""
    grid = any(body.type in ("smoke", "liquid", "wind_tunnel") for body in load_scene(name).bodies)
    formats = "vtu,vti,html" if grid else "vtu,glb"
    words = ["run", name, "-o", str(folder), "--format", formats, "--threads", str(threads), "--quiet"]
    words += ["--seconds", repr(seconds), "--checkpoint-every", "2", *more]
    return [sys.executable, "-c", "from continua.cli import main; main()", *words]


def execute(words: list[str], limit: float | None = None) -> bool:
    """Run a command; kill it after `limit` seconds. Return whether it came to its end.

    Raises:
        FailedRunError: It came to its end with an error.
    """
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return False
    if process.returncode:
        last = errors.strip().splitlines()[-1:]
        raise FailedRunError(f"a run ended with code {process.returncode}: {' '.join(last)}")
    return True


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a run but its report, which has wall-clock times, and the folder of its own records."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != ".continua")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "report.json"}


class Trials:
    """Trials of one scene.

    Args:
        name: Name of the scene.
        folder: An empty folder for its runs.
        seconds: Simulated time; that of 12 frames by default.
        limit: Wall time [s] that a run without interruption may take.
    """

    def __init__(self, name: str, folder: Path, seconds: float | None, limit: float) -> None:
        self.name, self.folder, self.limit = name, folder, limit
        self.seconds = seconds or FRAMES / load_scene(name).fps
        self._whole: dict[str, bytes] = {}
        self._duration = 0.0
        self._count = 0

    def prepare(self) -> bool:
        """Run without interruption, at the first call only; return False if that takes longer than the limit."""
        if self._whole:
            return True
        start = perf_counter()
        if not execute(command(self.name, self.folder / "whole", 2, self.seconds), self.limit):
            return False
        self._duration = perf_counter() - start  # too long if kernels were compiled: see `trial`
        self._whole = contents(self.folder / "whole")
        return True

    def trial(self, rng: random.Random, kills: int) -> Outcome:
        """Run with at most `kills` kills, resume, and compare."""
        self._count += 1
        killed, done = self.folder / f"killed{self._count}", 0
        for _ in range(MAX_PROCESSES):
            if done == kills:
                break
            start = perf_counter()
            words = command(self.name, killed, rng.randint(1, 2), self.seconds, "--resume")
            if not execute(words, rng.uniform(0.0, self._duration)):
                done += 1
            elif not (killed / ".continua").exists():
                return Outcome(done, False, "a run came to its end without files")
            else:  # it was faster than the first run: later kills come earlier
                self._duration = min(self._duration, perf_counter() - start)
                break
        execute(command(self.name, killed, rng.randint(1, 2), self.seconds, "--resume"))
        one, two = self._whole, contents(killed)
        different = sorted({*one} ^ {*two}) + [file for file in one if file in two and one[file] != two[file]]
        if different:
            return Outcome(done, False, f"{len(different)} of {len(one)} files differ, first {different[0]}")
        return Outcome(done, True, f"{len(one)} files identical")


def all_trials(
    kills: int, seed: int, scenes: list[str], seconds: float | None, limit: float
) -> Iterator[tuple[str, Outcome]]:
    """Yield the scene and the outcome of every trial, until there were so many kills or no scene is left."""
    rng = random.Random(seed)
    done, misses = 0, 0
    with tempfile.TemporaryDirectory() as place:
        trials = {name: Trials(name, Path(place, name), seconds, limit) for name in dict.fromkeys(scenes)}
        for name in cycle(tuple(trials)):
            if done >= kills or not trials or misses > MAX_PROCESSES * len(trials):
                break
            if name not in trials:
                continue
            try:
                if not trials[name].prepare():
                    del trials[name]
                    yield name, Outcome(0, True, f"left out: it takes longer than {limit:g} s")
                    continue
                outcome = trials[name].trial(rng, min(rng.randint(1, 3), kills - done))
            except FailedRunError as error:
                outcome = Outcome(0, False, str(error))
            done += outcome.kills
            misses = 0 if outcome.kills else misses + 1
            yield name, outcome


def main() -> int:
    """Run the trials; return 1 if files differ, a run failed or nothing was killed, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kills", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", nargs="+", default=list(shipped_scenes()), metavar="NAME")
    parser.add_argument("--seconds", type=float, help="simulated time (default: that of 12 frames)")
    parser.add_argument(
        "--limit",
        type=float,
        default=120.0,
        help="wall time of a run without interruption (default: %(default)g s)",
    )
    args = parser.parse_args()
    done = failures = count = 0
    start = perf_counter()
    for name, outcome in all_trials(args.kills, args.seed, args.scenes, args.seconds, args.limit):
        count += 1
        done += outcome.kills
        failures += not outcome.good
        left = (perf_counter() - start) / max(done, 1) * (args.kills - done)
        text = f"{outcome.kills} kills, {outcome.text}"
        print(f"{done}/{args.kills} {name}: {text} (about {left / 60:.0f} min left)", flush=True)
    print(f"{done} kills in {count} trials, {failures} trials with differences or errors")
    return 1 if failures or not done else 0


if __name__ == "__main__":
    sys.exit(main())
