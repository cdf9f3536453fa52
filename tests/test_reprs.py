"""The text of every public object is a line or a short table, never arrays."""

import inspect
from collections import deque
from functools import partial
from importlib import import_module

import numpy as np
import pytest

import continua as ct
import continua.linalg
import continua.sdf
from continua.linalg import MINRES, BlockMatrix, BlockPattern

MODULES = [
    "continua", *(f"continua.{name}" for name in (
        "collision", "contact_solver", "environment", "frames", "geometry", "grid_fluids", "linalg", "materials",
        "mesh", "rigid", "rigid.joints", "scene", "sdf", "solids", "sph", "system",
    )),
]  # fmt: skip
SCENES = (
    "bridge",
    "muscle",
    "cushion",
    "grid-dam-break",
    "dam-break",
    "smoke-sphere",
    "wind-tunnel-car",
    "newton-cradle",
)


def public_classes():
    for module in map(import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                yield thing


PUBLIC = set(public_classes())


def assert_short(thing):
    text = repr(thing)
    assert len(text) < 1000, text[:300]
    assert text.count("\n") < 15, text
    assert "array(" not in text + str(thing), text[:300]
    assert " object at 0x" not in text or type(thing) not in PUBLIC or type(thing).__name__ in PLAIN, text


PLAIN = {  # what a person does not print: parts of systems
    "Advection", "ColliderQuery", "ColliderSet", "CollisionMesh", "CouplingMatrix", "CutCells", "Flow", "Force",
    "GhostFluidPressure", "Motor", "PressureSolver", "RigidPull", "RigidSystem", "StaggeredFields", "TopologyCache",
    "HapticTool",
}  # fmt: skip


def parts(root):
    """Yield all objects of public classes in an object."""
    seen, todo = set(), deque([root])
    while todo:
        value = todo.popleft()
        if id(value) in seen or isinstance(value, (type, str, int, float, np.ndarray)):
            continue
        seen.add(id(value))
        if type(value) in PUBLIC:
            yield value
        if isinstance(value, (list, tuple, set)):
            todo += value
        elif hasattr(value, "items") and hasattr(value, "keys"):
            todo += [value[key] for key in value]
        elif isinstance(value, partial):
            todo += value.args
        elif type(value).__module__.startswith("continua"):
            todo += vars(value).values() if hasattr(value, "__dict__") else ()
            todo += [
                getattr(value, name)
                for name in getattr(type(value), "__dataclass_fields__", ())
                if hasattr(value, name)
            ]


@pytest.mark.parametrize("name", SCENES)
def test_everything_in_a_world_has_a_short_text(name):
    scene = ct.load_scene(name)
    world = scene.build()
    world.step()
    checked = set()
    for root in (scene, world, world.frame(), world.reports):
        for part in parts(root):
            if type(part) not in checked:
                checked.add(type(part))
                assert_short(part)
    assert {ct.Scene, ct.World, ct.Frame, ct.BodyFrame, ct.StepReport, type(world.bodies[0])} <= checked


def test_single_objects_have_short_texts():
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(2, 2, 2))
    rim = [(np.cos(a), np.sin(a)) for a in np.linspace(0, 6, 200)]
    body = ct.SoftBody(mesh, name="box", plasticity=ct.Plasticity(yield_strain=0.1))
    fibers = np.tile((1.0, 0.0, 0.0), (mesh.element_count, 1))
    many = {(f"a{i}", f"b{i}"): {"friction": 0.1} for i in range(50)}
    matrix = BlockMatrix(BlockPattern.of_diagonal(20))
    things = [
        mesh, mesh.surface, mesh.quality(), ct.mesh.refine(mesh), mesh.node_neighbours, body,
        body.pin(where=[0]), body.push([1], (0, 0, 1)), body.apply_pressure(lambda x: x[:, 1] > 0.9, 1.0),
        body.pull(node=3, target=(0, 0, 0)),
        body.apply_body_force(lambda x: x[:, 1] > 0, ct.ForceField.radial((0, 0, 0), 1, 1)),
        ct.Motion.rotate((0, 1, 0), (0, 0, 0), 1.0), ct.Motion(lambda t, x: x), ct.Contact(pairs=many),
        ct.Polygon(points=rim), ct.MeshShape(mesh.surface), ct.Voxels(np.zeros((4, 4, 4))),
        ct.Texture(np.zeros((8, 8, 3), np.uint8)), ct.sdf.exact(mesh.surface),
        ct.FiberReinforced(fiber=fibers), ct.Wind((1, 0, 0)),
        ct.RunInfo(metadata={str(i): "x" * 100 for i in range(30)}),
        ct.PCG(), ct.MergedPCG(), ct.Direct(), ct.Multigrid(), ct.PMultigrid(), MINRES(), matrix, matrix.pattern,
        ct.ContactForces(np.ones((9, 3)), np.ones((9, 3))), ct.Field(np.ones(100), "m"),
    ]  # fmt: skip
    for thing in things:
        for part in parts(thing):
            assert_short(part)
        assert_short(thing)


def test_texts_tell_names_counts_and_units():
    bodies = [
        ct.RigidBody(ct.Sphere(center=(i, 0.0, 0.0), radius=0.1), density=1.0, name=f"ball{i}")
        for i in range(40)
    ]
    world = ct.World(bodies, name="balls", colliders=[ct.Plane(point=(0, -1, 0))])
    assert repr(world).splitlines()[0] == "World('balls', step 0, t = 0 s, 40 bodies, 1 collider)"
    assert repr(world).splitlines()[-1] == "  and 31 more"
    assert repr(world.frame()).startswith("Frame(0, step 0, t = 0 s: ball0 (rigid, 162 nodes), ")
    assert repr(world.frame()).endswith("and 33 more)")
    assert repr(world.frame()["ball0"]).startswith(
        "BodyFrame('ball0', rigid, 162 nodes, 320 triangles; fields disp"
    )
    assert (
        repr(world.frame()["ball0"].fields["velocity"]) == "Field(<float64 [162, 3]>, unit 'm/s', on points)"
    )
    assert repr(ct.load_scene("bridge")) == "Scene('bridge', 1 body, 4 s at 30 frames/s)"


def test_a_multigrid_solver_prints_its_levels():
    body = ct.SoftBody(ct.mesh.box(size=(1, 1, 1), cells=(8, 8, 8)), name="box", solver=ct.Multigrid())
    body.pin(where=lambda x: x[:, 0] < 1e-9)
    ct.World([body]).step()
    text = str(body.solver)
    assert "levels" in text
    assert "2187 unknowns" in text
    assert_short(body.solver)
