"""The recipes of CONTRIBUTING.md are true: their files exist, and following them works."""

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import continua as ct
from continua.linalg import SolveReport
from continua.output import SINKS
from continua.scene.formats import format_names
from continua.sph import Force

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = ("material law", "force of a fluid", "kind of body", "solver", "sink")


def files_of(recipe):
    """Return the paths that a recipe lists, and whether each is to be made."""
    section = re.search(rf"^## Add a {recipe}\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    assert section is not None, recipe
    listed = re.findall(r"^- `([^`]+)`( \(new\))?:", section[1], re.MULTILINE)
    assert len(listed) >= 4, recipe
    return [(path, bool(new)) for path, new in listed]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_files_of_a_recipe_exist(recipe):
    for path, new in files_of(recipe):
        if new:  # its folder, or that of the package it makes
            assert "NAME" in path, path
            assert (ROOT / path.split("NAME")[0]).is_dir(), path
        else:
            assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_files_that_a_recipe_takes_as_examples_exist(recipe):
    """Files named in the text without a folder are beside the new file."""
    section = re.search(rf"^## Add a {recipe}\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)[1]
    made = [(ROOT / path).parent for path, new in files_of(recipe) if new and path.endswith("NAME.py")]
    for name in re.findall(r"`(\w+\.py)`", section):
        assert any((folder / name).is_file() for folder in made), name


def test_scene_files_know_the_names_of_all_sinks():
    assert set(format_names()) == set(SINKS)


class ConstantAcceleration(Force):
    """A uniform acceleration [m/s2] along x."""

    def explicit_step(self, particles):
        particles.accelerations[0::4] += np.float32(2.0)


def test_a_force_is_added_to_a_fluid():
    drop = ct.Fluid(points=[[0.0, 0.0, 0.0]], particle_radius=0.01, forces=[ConstantAcceleration()])
    world = ct.World([drop], gravity=(0.0, 0.0, 0.0), dt=0.01)
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(drop.velocities, [[0.2, 0.0, 0.0]], rtol=1e-5, atol=1e-7)  # a t, in float32


class DenseSolver:
    """Gaussian elimination on the free nodes, by NumPy."""

    def setup(self, matrix):
        pass

    def update(self, matrix, fixed, projections=None):
        self.matrix, self.free = matrix.to_scipy().toarray(), np.repeat(fixed == 0, 3)

    def solve(self, rhs, x, tolerance_scale=None, guess_directions=None):
        flat, free = x.reshape(-1), self.free
        known = self.matrix[np.ix_(free, ~free)] @ flat[~free]
        flat[free] = np.linalg.solve(self.matrix[np.ix_(free, free)], rhs.reshape(-1)[free] - known)
        return SolveReport(iterations=1, residual=0.0, converged=True)


def beam(solver):
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(4, 1, 1)),
        material=ct.Corotated(young=1e5),
        solver=solver,
        name="beam",
    )
    body.pin(where=lambda x: x[:, 0] < 1e-6)
    return body


def test_a_solver_is_passed_to_a_soft_body():
    """It gives the motion of the built-in direct solver, to the rounding of two eliminations."""
    bodies = beam(DenseSolver()), beam(ct.Direct())
    for body in bodies:
        world = ct.World([body])
        for _ in range(5):
            (report,) = world.step()
            assert report.converged
    sag = bodies[1].positions[:, 1].min()
    assert sag < -1e-3
    np.testing.assert_allclose(bodies[0].positions, bodies[1].positions, rtol=0, atol=1e-9 * abs(sag))


PLUGIN = dedent(
    '''
    """A law, a solver and a sink in one module, registered and then used by name in a scene file."""

    import sys
    from dataclasses import dataclass
    from pathlib import Path
    from typing import Literal

    from continua.cli.app import app
    from continua.linalg import PCG
    from continua.materials import Hyperelastic
    from continua.materials.registry import constant, law_function, register
    from continua.output import register_sink
    from continua.scene import register_solver
    from continua.scene.types import Model, Number, option


    @law_function
    def _principal(f0, f1, f2, p):
        """Energy k/2 sum (f_i - 1)^2, with its gradient and Hessian."""
        k = 2.0 * p[1]
        g = k * (f0 - 1.0), k * (f1 - 1.0), k * (f2 - 1.0)
        return 0.5 * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / k, g, (k, k, k, 0.0, 0.0, 0.0)


    @register("cork", title="Cork", summary="Principal stresses proportional to the principal strains.")
    @dataclass(frozen=True)
    class Cork(Hyperelastic):
        """An energy without coupling of the principal stretches."""

        poisson: float = constant(0.0, "Poisson's ratio; only 0.", ge=0.0, le=0.0)
        principal = _principal


    class PreciseModel(Model):
        """Conjugate gradients to a small residual."""

        type: Literal["precise"] = option("A precise solver.")
        rtol: Number = option("Residual.", 1e-10, gt=0, lt=1)


    class Heights:
        """Writes the lowest point of every frame as a line of text."""

        def __init__(self, folder):
            self.path = Path(folder) / "heights.txt"

        def open(self, info, start=0):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.lines = self.path.read_text().splitlines()[:start] if start else []

        def write(self, frame):
            self.lines.append(f"{frame.time} {frame['block'].positions[:, 1].min()}")

        def close(self):
            self.path.write_text("\\n".join(self.lines))
            return [self.path]


    register_solver(PreciseModel, PCG)
    register_sink("heights", Heights, title="Heights (text)")

    if __name__ == "__main__":
        app(sys.argv[1:])
    '''
)

SCENE = dedent(
    """
    name: block
    seconds: 0.2
    fps: 20
    dt: 0.01
    gravity: [0, -10, 0]
    bodies:
      - type: soft
        name: block
        mesh: {type: box, size: [0.1, 0.1, 0.1], cells: [2, 2, 2]}
        material: {type: cork, young: 2e4}
        solver: {type: precise, rtol: 1e-8}
    output: {formats: [heights]}
    """
)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """A folder with the module and its scene; they run in their own process, so that nothing stays registered here."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "block.yaml").write_text(SCENE, encoding="utf-8")
    return folder


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "plugin.py", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_law_a_solver_and_a_sink_are_used_by_name(plugin):
    """A free body falls as its integrator says, g t (t + dt) / 2, whatever law and solver it has."""
    done = run(plugin, "run", "block.yaml", "-o", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    time, low = np.loadtxt(plugin / "out" / "heights.txt").T
    np.testing.assert_allclose(time, np.arange(5) / 20)
    np.testing.assert_allclose(low, -5.0 * time * (time + 0.01), rtol=0, atol=1e-7)


def test_unknown_names_are_compared_with_registered_ones(plugin):
    for old, new in (("type: cork", "type: corc"), ("precise,", "precis,"), ("[heights]", "[hights]")):
        (plugin / "wrong.yaml").write_text(SCENE.replace(old, new), encoding="utf-8")
        done = run(plugin, "run", "wrong.yaml", "-o", "wrong", "--quiet")
        assert done.returncode != 0
        assert "wrong.yaml:" in done.stderr
        word = {"type: cork": "cork", "precise,": "precise", "[heights]": "heights"}[old]
        assert word in done.stderr, done.stderr
    assert not (plugin / "wrong").exists()


def test_the_schema_has_registered_names(plugin):
    done = run(plugin, "schema")
    assert done.returncode == 0, done.stderr
    for name in ('"cork"', '"precise"', '"heights"'):
        assert name in done.stdout
