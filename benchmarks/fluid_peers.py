"""The dam break of Continua and of SPlisHSPlasH with the same radius, kernel, tolerances and CFL rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

import continua as ct
from benchmarks.run import PeerError, PeerStoppedError, Run

RADIUS = 0.0125
TANK = ((0.0, 1.5, 0.0), (4.0, 3.0, 1.5))
BOUNDARIES = {"particles": 0, "density_map": 1, "volume_map": 2}
ACROSS = 39
CHUNK = 0.025  # s of simulated time between two looks at the clock


def points(across: int = ACROSS) -> np.ndarray:
    """Return the particles of the peer's scene DamBreakModel [m], shape [across^3, 3]; it has 39^3 = 59,319."""
    steps = 2 * RADIUS * np.arange(1, across + 1)
    axes = (-1.95 + steps, 0.05 + steps, -0.5 + steps)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def ours(run: Run, seconds: float, error: float, boundary: str, across: int = ACROSS) -> dict[str, Any]:
    """Run our dam break.

    Returns:
        Simulated time and seconds of wall and processor time after every chunk ("times", "walls", "cpus"), and how
        the solves went.
    """
    water = ct.Fluid(
        points=points(across),
        particle_radius=RADIUS,
        viscosity=10.0,  # the peer's kinematic 0.01 m2/s
        solver=ct.DFSPH(density_error=error, divergence_error=1e-3),
        boundary=boundary,
        name="water",
    )
    world = ct.World([water], colliders=[ct.Box(*TANK, inside=True)])
    system = world.system(ct.Fluid)
    assert system is not None
    first = min(0.005, 0.5 * seconds)
    world.step(first)  # compiles
    steps: list[Any] = []
    times, walls, cpus = [0.0], [0.0], [0.0]
    chunks = max(1, round((seconds - first) / CHUNK))
    chunk = (seconds - first) / chunks
    for _ in run.steps(chunks, "Continua", 0.4):
        wall, cpu = time.perf_counter(), time.process_time()
        world.step(chunk)
        walls.append(walls[-1] + time.perf_counter() - wall)
        cpus.append(cpus[-1] + time.process_time() - cpu)
        times.append(times[-1] + chunk)
        steps += system.substeps
    x = water.positions
    return {
        "first": first,
        "times": times,
        "walls": walls,
        "cpus": cpus,
        "steps": len(steps),
        "density_it": float(np.mean([s.density.iterations for s in steps])),
        "div_it": float(np.mean([s.divergence.iterations for s in steps])),
        "density_max": float(1000 * (1 + water.density_error.max())),
        "outside": int(((x[:, 1] < 0) | (np.abs(x[:, 0]) > 2) | (np.abs(x[:, 2]) > 0.75)).sum()),
        "bytes": system.nbytes() / water.node_count,
    }


PEER_BEGIN = r"""
import ctypes, json, os, sys, tempfile, time
begun = time.perf_counter()
os.environ["OMP_NUM_THREADS"] = sys.argv[1]
try:  # the copy in the wheel conflicts with the system's libGL
    ctypes.CDLL("libGLdispatch.so.0", ctypes.RTLD_GLOBAL)
except OSError:
    pass
import pysplishsplash as sph
places = [sys.prefix, os.path.dirname(sph.__file__)]
data = next(d for d in (os.path.join(place, "bin", "data") for place in places) if os.path.isdir(d))
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
seconds, error, boundary, limit = float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
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
        if clock.getTime() >= seconds or now - begun > limit and len(rows) > 1:
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
    end=clock.getTime(), steps=len(r), wall=r[:, 0].sum() / simulated, cpu=r[:, 1].sum() / simulated,
    density_it=r[:, 3].mean(), div_it=r[:, 4].mean(),
    density_max=float(density.max()), cpu_step=r[:, 1].mean(), wall_step=r[:, 0].mean(),
    outside=int(((x[:, 1] < 0) | (np.abs(x[:, 0]) > 2) | (np.abs(x[:, 2]) > 0.75)).sum()))))
sys.stdout.flush()
os._exit(0)
"""


def peer(run: Run, seconds: float, error: float, boundary: str, threads: int) -> dict[str, Any]:
    """Run SPlisHSPlasH's dam break, at most for the time that the case has left.

    Returns:
        Seconds of wall and processor time per simulated second, the simulated time reached ("end"), and how the
        solves went; "search" is its own timer of the neighbour search [s of wall time].
    """
    limit = run.seconds_left
    arguments = [str(threads), str(seconds), str(error), str(BOUNDARIES[boundary]), str(0.8 * limit)]
    done = run_splishsplash(PEER_BEGIN + PEER, arguments, limit)
    result = parse_result(done)
    for line in (done.stdout + done.stderr).splitlines():
        if "neighborhood_search" in line:
            result["search"] = float(line.split("search:")[1].split()[0]) / 1000.0
    if result["end"] < seconds - 1e-9:
        run.notes.append(
            f"SPlisHSPlasH, {boundary}, {error:g}: stopped after {0.8 * limit:.0f} s at {result['end']:.3f} of "
            f"{seconds:g} s, {result['steps']} steps; compared on the time simulated by both"
        )
    return result


def run_splishsplash(code: str, arguments: list[str], limit: float) -> subprocess.CompletedProcess[str]:
    """Run Python code in the environment of SPlisHSPlasH, for `limit` seconds at most.

    Raises:
        PeerStoppedError: It took longer.
        ImportError: The environment lacks SPlisHSPlasH.
    """
    python = os.environ.get("CONTINUA_PEERS", sys.executable)
    try:
        done = subprocess.run(
            [python, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=max(limit, 1.0),
        )
    except subprocess.TimeoutExpired:
        raise PeerStoppedError(f"stopped after {limit:.0f} s without a result") from None
    if "No module named 'pysplishsplash'" in done.stderr:
        raise ImportError("SPlisHSPlasH (pysplishsplash) is not installed")
    return done


def parse_result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return what the code printed after "RESULT "."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise PeerError(f"failed with code {done.returncode} ({' '.join(last)})")
    return json.loads(lines[-1].removeprefix("RESULT "))
