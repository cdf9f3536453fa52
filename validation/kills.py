"""Runs of the shipped scenes, killed (-9) at random times and resumed: every file must be bitwise identical.

Each trial takes a scene, runs it once without interruption, then again while it is killed at random times, one to three
times, each time resumed with another number of threads. Formats that write a file per frame and one that is made at
the end are compared byte by byte, with the last checkpoint.

Run: python -m validation.kills [TRIALS] [--seed N] [--scenes NAME ...] [--seconds S]
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from continua.scene import load_scene, shipped_scenes

FRAMES = 12
MAX_SECONDS = 120.0  # of wall time for the run without interruption


def command(name: str, folder: Path, threads: int, seconds: float, *more: str) -> list[str]:
    """Return the command line of a run."""
    grid = any(body.type in ("smoke", "liquid", "wind_tunnel") for body in load_scene(name).bodies)
    formats = "vtu,vti,html" if grid else "vtu,glb"
    words = ["run", name, "-o", str(folder), "--format", formats, "--threads", str(threads), "--quiet"]
    words += ["--seconds", repr(seconds), "--checkpoint-every", "2", *more]
    return [sys.executable, "-c", "from continua.cli import main; main()", *words]


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a run but the report, which has wall-clock times, and the list of files."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != ".continua")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "report.json"}


def trial(name: str, rng: random.Random, seconds: float | None) -> tuple[bool, str]:
    """Run, kill and resume one scene; return whether all files are identical, and a line about it."""
    scene = load_scene(name)
    seconds = seconds or FRAMES / scene.fps
    with tempfile.TemporaryDirectory() as place:
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        start = perf_counter()
        try:
            subprocess.run(command(name, whole, 2, seconds), check=True, timeout=MAX_SECONDS)
        except subprocess.TimeoutExpired:
            return True, f"left out, takes longer than {MAX_SECONDS:g} s"
        took = perf_counter() - start
        kills, attempts = 0, rng.randint(1, 3)
        for attempt in range(attempts):
            resume = ["--resume"] if attempt else []
            process = subprocess.Popen(command(name, killed, rng.randint(1, 2), seconds, *resume))
            try:
                process.wait(rng.uniform(0.2, 1.0) * took)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
        subprocess.run(command(name, killed, rng.randint(1, 2), seconds, "--resume"), check=True)
        one, two = contents(whole), contents(killed)
        different = sorted({*one} ^ {*two}) + [file for file in one if file in two and one[file] != two[file]]
        shutil.rmtree(place, ignore_errors=True)
    if different:
        return False, f"{kills} kills, {len(different)} of {len(one)} files differ, first {different[0]}"
    return True, f"{kills} kills, {len(one)} files identical"


def main() -> int:
    """Run the trials and return the number of those that differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trials", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", nargs="+", default=list(shipped_scenes()))
    parser.add_argument("--seconds", type=float, help="simulated time; by default that of 12 frames")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    failures, start = 0, perf_counter()
    for number in range(args.trials):
        name = args.scenes[number % len(args.scenes)]
        good, text = trial(name, rng, args.seconds)
        failures += not good
        left = (perf_counter() - start) / (number + 1) * (args.trials - number - 1)
        print(f"{number + 1}/{args.trials} {name}: {text} (about {left / 60:.0f} min left)", flush=True)
    print(f"{args.trials} trials, {failures} with differences")
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 1))
