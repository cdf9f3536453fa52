"""The command line: `python -m benchmarks [NAME | compare A.json B.json]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.registry import listing, load
from benchmarks.report import compare, without_bars
from benchmarks.run import BUDGET, Run
from continua.errors import ContinuaError

USAGE = """python -m benchmarks                            list the benchmarks
       python -m benchmarks NAME [options]             run one
       python -m benchmarks compare A.json B.json      compare two results"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words[:1] == ["compare"]:
            return _compare(words[1:])
        return _run(words)
    except ContinuaError as error:
        print(error, file=sys.stderr)
        return 2


def _compare(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description="Print the ratios after/before of two results."
    )
    parser.add_argument("before", type=Path, metavar="A.json")
    parser.add_argument("after", type=Path, metavar="B.json")
    files = parser.parse_args(words)
    print(compare(files.before, files.after))
    return 0


def _run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        usage=USAGE,
        description="Measure speed against a baseline or a peer in the same run.",
        epilog=f"benchmarks:\n{listing()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="tiny sizes: seconds, and no meaningful times")
    size.add_argument("--full", action="store_true", help="the large sizes too; give a larger budget as well")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads for all (default: the benchmark's own choice)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        metavar="SECONDS",
        help="wall time after which repetitions, cases and peers are cut short (default: %(default)g)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    args = parser.parse_args(words)
    if args.name is None:
        print("Benchmarks, to run with  python -m benchmarks NAME:")
        print(listing())
        return 0
    benchmark = load(args.name)
    choice = "quick" if args.quick else "full" if args.full else "default"
    run = Run(args.name, choice, args.threads, args.budget, show=True)
    try:
        result = benchmark(run)
    except ImportError as error:
        print(f'{error}: run  python -m pip install ".[bench]"', file=sys.stderr)
        return 2
    result.notes = [*result.notes, *run.notes]
    if run.quick:
        without_bars(result)
    result.settings = {"name": args.name, "size": choice, "budget": args.budget, "seconds": run.elapsed}
    result.print()
    if args.json is not None:
        result.write(args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
