"""The benchmarks by name, with one sentence on each."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from benchmarks.report import Result
from benchmarks.run import Run
from continua.errors import InputError

BENCHMARKS = {
    "assembly": "Assembly of a corotated step: linear tets in matrix products, quadratic tets against block search.",
    "beam-step": "An implicit step of a clamped beam against MuJoCo flex and pyPBD, with the error of the tip.",
    "boundary-map": "Density maps of a tank and of a bunny against SPlisHSPlasH's.",
    "cloth": "A step of a hanging sheet against MuJoCo flex and pyPBD; iterations of multigrid over its size.",
    "cold-start": "First frame of each shipped scene with an empty kernel cache, against a warm one.",
    "contact": "Soft tori in a pile, a sheet over a bunny, rigid bodies on poles: the share of contact in a step.",
    "contact-flex": "A soft ball dropped on a floor and on a box against MuJoCo flex: time in contact and depth.",
    "contact-live": "An instrument on tissue, a gripper, a figure on the floor: steps with and without contact.",
    "corotated-step": "A corotated step of the swinging bridge in matrix products, and against SSOR- and Jacobi-PCG.",
    "cutting": "Cuts through a beam: time by the elements that they divide; steps and iterations after ten cuts.",
    "dam-break": "A dam break of 59,319 particles against SPlisHSPlasH, for each boundary model.",
    "dfsph-table": "DFSPH, IISPH, PBF and PCISPH on one dam break at fixed time steps.",
    "galerkin-update": "Galerkin products of all multigrid levels in place against SciPy's triple products.",
    "incompressible": "A step of incompressible bodies against compressible ones; iterations of their pressure solves.",
    "linear-step": "A step with a constant matrix in matrix products, and the bandwidth of product and smoother.",
    "multigrid-vs-amg": "Update and solve to 1e-8 against PyAMG with rigid-body modes and CHOLMOD.",
    "neighbours": "Neighbour search of 59,319 particles against SPlisHSPlasH and SciPy's tree.",
    "newton": "A step of hyperelastic laws against a corotated step.",
    "order-step": "Time of a step and error of orders 1, 2 and 3 on a bar that swings about its axis.",
    "pmultigrid": "Orders 2 and 3: multigrid over degrees and meshes against SSOR- and Jacobi-PCG.",
    "pressure": "Cut-cell multigrid of grid fluids: rates, bandwidth, memory, and against CG and PyAMG.",
    "rigid-pile": "800 rigid bodies in a bin and on 64 poles against PyBullet and MuJoCo.",
    "rotations": "Rotations of 3x3 matrices in SIMD lanes against one at a time and NumPy.",
    "scenes": "Processor time of a run of each shipped scene, for `continua scenes`; written to its data file.",
    "sdf-exact": "Exact signed distance to a surface against Open3D, libigl and SciPy's tree of the vertices.",
    "sdf-fit": "Adaptive polynomial distance fields against a uniform grid of cubics: size, error, build, queries.",
    "smoke-step": "Frames of smoke past a sphere and of a dam break on a grid against Mantaflow.",
    "solvers": "All linear solvers over the size of a body.",
    "springs": "Explicit springs against memory bandwidth; PBD and XPBD of cloth and of 10,000 tets against pyPBD.",
    "sph-scale": "Time and memory per particle over the number of particles (up to a million with --full).",
    "startup": "A warm process from its start to the end of its first steps, and its memory.",
    "stiffness": "Iterations of multigrid, SSOR- and Jacobi-PCG over stiffness, Poisson's ratio and contrast.",
    "studio-updates": "Updates per second of a surface of 20,000 vertices at the studio's server and in its page.",
    "surfaces": "Iterations of multigrid on tetrahedral meshes of surfaces, at two sizes.",
    "tunnel": "A 2-D wind tunnel whose obstacle changes while it runs: cutting cells against a pressure solve.",
}


def listing() -> str:
    """Return the names and sentences, one benchmark per line."""
    return "\n".join(f"  {name:18}{text}" for name, text in BENCHMARKS.items())


def load(name: str) -> Callable[[Run], Result]:
    """Return the function that runs the benchmark `name`."""
    if name not in BENCHMARKS:
        raise InputError(f"there is no benchmark '{name}'; the benchmarks are:\n{listing()}")
    return importlib.import_module(f"benchmarks.{name.replace('-', '_')}").main
