"""Run a benchmark by name."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

BENCHMARKS = {
    "assembly": "assembly of one corotated step: linear against a product, quadratic against searching",
    "beam-step": "one implicit step of the shared cantilever against MuJoCo flex and pyPBD",
    "order-step": "time of a step and error of orders 1, 2 and 3 on a bar that swings about its axis",
    "newton": "one step of a St. Venant-Kirchhoff body against a corotated one",
    "contact": "40 soft tori in a pile, a sheet over a bunny, 800 rigid bodies on poles: contacts and time",
    "corotated-step": "a full corotated step of the swinging bridge in matrix-vector products, and against Jacobi-PCG",
    "galerkin-update": "all levels brought up to date in place against SciPy's triple products",
    "linear-step": "a step with a constant matrix in matrix-vector products, and the bandwidth kernels reach",
    "multigrid-vs-amg": "time to 1e-8 against PyAMG with rigid-body modes and sparse Cholesky",
    "pmultigrid": "orders 2 and 3 from 5k to 60k nodes against Jacobi-PCG",
    "rigid-pile": "800 rigid bodies in a bin and on 64 poles against PyBullet and MuJoCo",
    "rotations": "rotations of 3x3 matrices in lanes against one by one and NumPy",
    "sdf-exact": "exact signed distance to a surface against Open3D and libigl",
    "sdf-fit": "hp-adaptive distance fields against a uniform cubic grid: size, error, build, queries",
    "solvers": "all solvers over size: where multigrid begins to pay",
    "stiffness": "iterations of multigrid over stiffness, Poisson's ratio and contrast",
    "surfaces": "iterations of multigrid on meshes of the surfaces in the folder $CONTINUA_SURFACES, at two sizes",
    "studio-updates": "updates a second of a 20,000-vertex surface at the studio's server and in its page",
    "startup": "a warm process from start to the end of its first step, and its memory",
    "boundary-map": "density maps of a tank and a bunny ($CONTINUA_BUNNY) against SPlisHSPlasH",
    "dam-break": "dam break of 59,319 particles against SPlisHSPlasH, for each model of walls",
    "dfsph-table": "DFSPH, IISPH, PBF and PCISPH on one dam break",
    "neighbours": "neighbour search against SPlisHSPlasH's",
    "pressure": "the cut-cell multigrid of grid fluids: rates, size, bandwidth, memory, against ICCG and PyAMG",
    "smoke-step": "frames of smoke at 64^3 and 128^3 and of a dam break at 64^3 beside Mantaflow's figures",
    "tunnel": "a plane wind tunnel of 1024^2 cells whose obstacle is changed while it runs",
    "sph-scale": "particle fluids from 60 thousand to a million particles",
}


def main() -> int:
    """Parse the command line, run one benchmark, print and perhaps save its result."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed side by side in one run.",
        epilog="\n".join(f"  {name:18}{what}" for name, what in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=sorted(BENCHMARKS), metavar="NAME")
    parser.add_argument(
        "--threads", type=int, default=None, help="threads for all (default: the benchmark's own)"
    )
    parser.add_argument(
        "--json", type=Path, default=None, metavar="FILE", help="also write the result to FILE"
    )
    args = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{args.name.replace('-', '_')}")
    try:
        result = module.main(threads=args.threads)
    except ImportError as error:
        print(f'{error}: run  python -m pip install ".[bench]"', file=sys.stderr)
        return 2
    result.print()
    if args.json is not None:
        result.write(args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
