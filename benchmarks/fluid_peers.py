"""The dam break of 59,319 particles, ours and SPlisHSPlasH's, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np

import continua as ct

RADIUS = 0.0125
TANK = ((0.0, 1.5, 0.0), (4.0, 3.0, 1.5))
BOUNDARIES = {"particles": 0, "density_map": 1, "volume_map": 2}


def points() -> np.ndarray:
    """Return the particles of the peer's scene DamBreakModel [m], shape [59319, 3]."""
    d = 2 * RADIUS
    steps = d * np.arange(1, 40)
    axes = (-1.95 + steps, 0.05 + steps, -0.5 + steps)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def ours(seconds: float, error: float, boundary: str = "particles") -> dict[str, float]:
    """Run our dam break; return seconds of wall and CPU time a simulated second, and how the solves went."""
    water = ct.Fluid(
        points=points(),
        particle_radius=RADIUS,
        viscosity=10.0,  # the peer's kinematic 0.01 m2/s
        solver=ct.DFSPH(density_error=error, divergence_error=1e-3),
        boundary=boundary,
        name="water",
    )
    world = ct.World([water], colliders=[ct.Box(*TANK, inside=True)])
    system = world.system(ct.Fluid)
    assert system is not None
    world.step(0.005)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    world.step(seconds - 0.005)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    steps = system.substeps
    simulated = seconds - 0.005
    x = water.positions
    return {
        "wall": wall / simulated,
        "cpu": cpu / simulated,
        "steps": len(steps),
        "density_it": float(np.mean([s.density.iterations for s in steps])),
        "div_it": float(np.mean([s.divergence.iterations for s in steps])),
        "density_max": float(1000 * (1 + water.density_error.max())),
        "outside": int(((x[:, 1] < 0) | (np.abs(x[:, 0]) > 2) | (np.abs(x[:, 2]) > 0.75)).sum()),
        "bytes": system.nbytes() / water.node_count,
    }


PEER_BEGIN = r"""
import ctypes, json, os, sys, tempfile, time
os.environ["OMP_NUM_THREADS"] = sys.argv[1]
try:  # the wheel's own copy crashes beside the system's libGL
    ctypes.CDLL("libGLdispatch.so.0", ctypes.RTLD_GLOBAL)
except OSError:
    pass
import pysplishsplash as sph
data = os.path.join(sys.prefix, "bin", "data")
scene = json.load(open(os.path.join(data, "Scenes", "DamBreakModel.json")))
for body in scene["RigidBodies"]:
    body["geometryFile"] = os.path.abspath(os.path.join(data, "Scenes", body["geometryFile"]))
c = scene["Configuration"]
c["particleRadius"] = 0.0125
def open_scene():
    work = tempfile.mkdtemp()
    path = os.path.join(work, "scene.json")
    json.dump(scene, open(path, "w"))
    base = sph.Exec.SimulatorBase()
    base.init(sceneFile=path, useGui=False, useCache=False, initialPause=False, outputDir=work)
    base.initSimulation()
    base.setValueFloat(base.STOP_AT, 1e6)
    return base
"""

PEER = r"""
import numpy as np
seconds, error, boundary = float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
c.update(boundaryHandlingMethod=boundary, enableZSort=True)
c["DFSPH"]["maxError"] = 100 * error
base = open_scene()
sim, clock = sph.Simulation.getCurrent(), sph.TimeManager.getCurrent()
fluid = sim.getFluidModel(0)
n = fluid.numActiveParticles()
rows, mark = [], []
class Done(Exception):
    pass
def on_step():
    now, cpu, step = time.perf_counter(), time.process_time(), sim.getTimeStep()
    if mark:
        rows.append((now - mark[0], cpu - mark[1], clock.getTimeStepSize(), step.getValueUInt(step.SOLVER_ITERATIONS),
                     step.getValueUInt(step.SOLVER_ITERATIONS_V)))
        if clock.getTime() >= seconds:
            raise Done
    mark[:] = time.perf_counter(), time.process_time()
base.setTimeStepCB(on_step)
try:
    base.runSimulation()
except Done:
    pass
r = np.array(rows)
simulated = r[:, 2].sum()
x = np.array(fluid.getFieldBuffer("position"))[:n]
density = np.array(fluid.getFieldBuffer("density"))[:n]
sph.Utilities.Timing.printAverageTimes()
sys.stdout.flush()
print("RESULT " + json.dumps(dict(
    wall=r[:, 0].sum() / simulated, cpu=r[:, 1].sum() / simulated, steps=len(r),
    density_it=r[:, 3].mean(), div_it=r[:, 4].mean(),
    density_max=float(density.max()), cpu_step=r[:, 1].mean(), wall_step=r[:, 0].mean(),
    outside=int(((x[:, 1] < 0) | (np.abs(x[:, 0]) > 2) | (np.abs(x[:, 2]) > 0.75)).sum()))))
sys.stdout.flush()
os._exit(0)
"""


def peer(seconds: float, error: float, boundary: str, threads: int) -> dict[str, float]:
    """Run SPlisHSPlasH's dam break; "search" is its own timer of the neighbour search [s], by wall clock."""
    python = peer_python()
    arguments = [str(threads), str(seconds), str(error), str(BOUNDARIES[boundary])]
    done = subprocess.run(
        [python, "-c", PEER_BEGIN + PEER, *arguments], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise ImportError(f"SPlisHSPlasH did not run ({done.stderr.strip().splitlines()[-1:]})")
    result = json.loads(lines[-1].removeprefix("RESULT "))
    for line in (done.stdout + done.stderr).splitlines():
        if "neighborhood_search" in line:
            result["search"] = float(line.split("search:")[1].split()[0]) / 1000.0
    return result


def peer_python() -> str:
    """Return the Python that has pysplishsplash: this one, or that of $CONTINUA_PEERS."""
    import os

    return os.environ.get("CONTINUA_PEERS", sys.executable)
