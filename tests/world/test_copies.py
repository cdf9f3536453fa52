"""Worlds and all that belongs to them can be pickled and copied; copies continue bitwise identically."""

import copy
import pickle
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from object_graph import differences

import continua as ct
from continua.errors import InputError, MissingExtraError, OutputError, StoppedError
from continua.numerics import compile_stats
from continua.scene import SceneError

SCENES = sorted(path.stem for path in (Path(ct.__file__).parent / "scene" / "library").glob("*.yaml"))


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def assert_same_state(a, b):
    one, other = a.state(), b.state()
    assert one.keys() == other.keys()
    assert [key for key in one if np.asarray(one[key]).tobytes() != np.asarray(other[key]).tobytes()] == []


def run(world, steps):
    """Step a world; return the nodes of its bodies."""
    for _ in range(steps):
        world.step()
    return [body.positions.tobytes() for body in world.frame()]


def assert_copies_continue(world, steps=3):
    """A copy and a pickled world are equal and independent, and make the same steps without compiling anything."""
    first, second, before = copy.deepcopy(world), pickled(world), pickled(world)
    assert differences(world, first) == []
    assert differences(world, second) == []
    expected = run(first, steps)
    assert_same_state(world, before)
    assert run(world, steps) == expected
    assert_same_state(world, first)
    compiled = compile_stats()[0]
    assert run(second, steps) == expected
    assert_same_state(world, second)
    assert compile_stats()[0] == compiled


@pytest.mark.parametrize("name", SCENES)
def test_copies_of_shipped_scenes_continue(name):
    scene = ct.load_scene(name)
    world = pickled(scene).build()
    world.step()
    world.frame()
    assert_copies_continue(world, steps=1)


def box(name, height=0.02, cells=(3, 3, 3), **options):
    mesh = ct.mesh.box(size=(0.3, 0.3, 0.3), cells=cells).transformed(translate=(0.0, height, 0.0))
    return ct.SoftBody(mesh, name=name, material=ct.StableNeoHookean(young=2e4, density=1000.0), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": ct.PCG()},
        {"solver": ct.MergedPCG()},
        {"solver": ct.Direct()},
        {"solver": ct.Multigrid()},
        {"order": 2, "solver": ct.PMultigrid()},
        {"order": 3},
        {"integrator": ct.SemiImplicit()},
        {"integrator": ct.Newmark()},
        {"integrator": ct.EnergyMomentum()},
        {"integrator": ct.Explicit()},
        {"plasticity": ct.Plasticity(yield_strain=0.01)},
    ],
    ids=lambda options: "-".join(map(str, options)) + "-" + type([*options.values()][-1]).__name__,
)
def test_copies_of_a_soft_body_in_contact_continue(options):
    body = box("box", **options)
    world = ct.World([body], dt=0.005, colliders=[ct.Plane()], contact=ct.Contact(friction=0.5))
    for _ in range(16):
        (report,) = world.step()
    assert report.contacts > 0
    assert_copies_continue(world)


def test_copies_of_joined_rigid_and_soft_bodies_continue():
    lower = ct.RigidBody(ct.Box(center=(0.0, 0.05, 0.0), size=(0.5, 0.1, 0.5)), density=500.0, name="lower")
    upper = ct.RigidBody(ct.Sphere(center=(0.0, 0.8, 0.0), radius=0.1), density=500.0, name="upper")
    soft = box("soft", height=0.105)
    hinge = ct.joints.Ball(upper, None, point=(0.3, 0.8, 0.0))
    world = ct.World([lower, soft, upper], dt=0.005, colliders=[ct.Plane()], joints=[hinge])
    for _ in range(25):
        reports = world.step()
    assert reports[0].contacts > 0
    assert reports[1].contacts > 0
    assert_copies_continue(world)


def test_a_copy_of_a_refined_body_continues_and_undoes_the_refinement_alone():
    body = box("box", cells=(2, 2, 2))
    body.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([body], dt=0.005, colliders=[ct.Plane()])
    start = world.state()
    world.step()
    body.refine(lambda x: x[:, 1] > 0.15)
    world.step()
    assert_copies_continue(world)
    other = copy.deepcopy(world)
    other.restore(start)
    assert len(other.bodies[0].positions) < len(body.positions)


def test_a_temporary_collider_and_loads_are_copied():
    body = box("box", height=0.0)
    body.drive(
        lambda x: x[:, 1] > 0.29,
        ct.Motion.translate((0.0, 0.1, 0.0)) + ct.Motion.rotate((0, 1, 0), (0, 0, 0), 1.0),
    )
    body.apply_body_force(slice_of_all, ct.ForceField.wave((1e3, 0, 0), (0, 1, 0), 0.5, 0.1))
    world = ct.World([body], dt=0.005, gravity=(0, -20, 0))
    world.add_temporary_collider(ct.Sphere(center=(0.0, -0.05, 0.0), radius=0.1))
    for _ in range(5):
        world.step()
    assert_copies_continue(world)


def slice_of_all(x):
    return np.ones(len(x), bool)


@dataclass(frozen=True)
class Softening(ct.CustomLaw):
    limit: float = 3.0

    def principal_energy(f, p):  # noqa: N805
        e = (f[0] - 1.0) ** 2 + (f[1] - 1.0) ** 2 + (f[2] - 1.0) ** 2
        t = f[0] + f[1] + f[2] - 3.0
        return p.mu * e + 0.5 * p.lam * t * t


def test_laws_can_be_pickled():
    laws = [
        Softening(young=1e5),
        ct.FiberReinforced(young=1e5, fiber=(1.0, 0.0, 0.0)),
        ct.Muscle(young=1e5, fiber=(1.0, 0.0, 0.0)),
        ct.Corotated(young=1e5),
    ]
    F = np.diag([1.1, 0.9, 1.0])
    for law in laws:
        assert pickled(law) == law == copy.deepcopy(law)
        assert pickled(law).energy(F) == law.energy(F)


# --- what is shared stays shared ----------------------------------------------------------------------------


class Experiment:
    """What a user's own class may hold."""

    def __init__(self):
        mesh = ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(2, 2, 2))
        self.shape = ct.Sphere(center=(0.0, -0.2, 0.0), radius=0.1)
        self.left, self.right = (ct.SoftBody(mesh, name=name) for name in ("left", "right"))
        apart = ct.Contact(pairs={("left", "right"): {"collide": False}})
        self.world = ct.World([self.left, self.right], colliders=[self.shape], contact=apart)
        self.world.add_pre_step_callback(self.push)
        self.pushes = 0

    def push(self, dt):
        self.pushes += 1
        self.left.add_external_force(np.full((len(self.left.positions), 3), 1.0))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, pickled, lambda value: pickle.loads(cloudpickle.dumps(value))]
)
def test_what_is_shared_stays_shared(copied):
    first = Experiment()
    first.world.step()
    other = copied(first)
    assert other.world.bodies == (other.left, other.right)
    assert other.left.mesh is other.right.mesh is not first.left.mesh
    assert other.world.colliders == (other.shape,)
    other.world.step()
    assert (first.pushes, other.pushes) == (1, 2)
    first.world.step()
    assert_same_state(first.world, other.world)


# --- functions ------------------------------------------------------------------------------------------------


def double_gravity(world):
    world.gravity = 2.0 * world.gravity


def small_world():
    return ct.World([box("box", cells=(1, 1, 1))], name="small")


def test_events_are_pickled_by_name_and_copied():
    world = small_world()
    world.schedule(0.02, double_gravity)
    for other in (pickled(world), copy.deepcopy(world)):
        for _ in range(4):
            other.step()
        assert other.gravity[1] == pytest.approx(-2 * 9.81)
    assert world.gravity[1] == pytest.approx(-9.81)


def test_a_lambda_is_named_when_it_cannot_be_pickled():
    world = small_world()
    world.schedule(0.5, lambda world: None)
    with pytest.raises(
        InputError, match=r"event of the world 'small' at 0.5 s cannot be pickled.*lambda.*def"
    ):
        pickle.dumps(world)
    copy.deepcopy(world).step()
    pickle.loads(cloudpickle.dumps(world)).step()
    world = small_world()
    world.add_pre_step_callback(lambda dt: None)
    with pytest.raises(InputError, match="a pre-step callback of the world 'small' cannot be pickled"):
        pickle.dumps(world)
    with pytest.raises(InputError, match="a motion cannot be pickled"):
        pickle.dumps(ct.Motion(lambda t, rest: rest))
    with pytest.raises(InputError, match="a force field cannot be pickled"):
        pickle.dumps(ct.ForceField(lambda t, x: x))
    body = box("box", cells=(1, 1, 1))
    body.push([0], lambda time: (time, 0, 0))
    with pytest.raises(InputError, match="the value of a push cannot be pickled"):
        pickle.dumps(body)


def test_a_selection_function_is_not_kept():
    body = box("box", cells=(1, 1, 1))
    body.pin(where=lambda x: x[:, 0] < 1e-9)
    body.apply_pressure(lambda x: x[:, 1] > 0.2, 10.0)
    assert len(pickled(body).attached) == 2


def test_a_function_that_would_change_the_original_is_refused():
    world = small_world()
    body = world.bodies[0]
    world.schedule(0.5, lambda world: body.reset())
    with pytest.raises(InputError, match="uses the variable 'body', a part of this world"):
        copy.deepcopy(world)
    other = pickle.loads(cloudpickle.dumps(world))  # stores the function with what it uses
    other.step()
    assert world.step_index == 0


# --- other objects ----------------------------------------------------------------------------------------------


def test_frames_stay_read_only():
    world = ct.World([box("box", cells=(1, 1, 1))], fields=["stress"])
    world.step()
    frame = world.frame()
    stretch = frame["box"]["stretch"]
    for other in (pickled(frame), copy.deepcopy(frame), pickled(pickled(frame))):
        assert other.time == frame.time
        assert other.reports == frame.reports
        assert list(other["box"].fields) == list(frame["box"].fields)
        for name in ("displacement", "stress", "stretch"):
            np.testing.assert_array_equal(other["box"][name], frame["box"][name])
        for array in (other["box"].positions, other["box"].cells["tetra"], other["box"]["stress"], stretch):
            assert not array.flags.writeable
    with pytest.raises(InputError, match="'energy_density' was not computed before the frame was pickled"):
        pickled(frame)["box"]["energy_density"]
    assert copy.deepcopy(frame)["box"]["energy_density"].shape == (6,)


def test_meshes_shapes_scenes_and_formulas_can_be_pickled():
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(2, 2, 2))
    assert len(mesh.boundary_triangles) == 48
    surface = ct.MeshShape(mesh.surface)
    from continua.formula import Formula

    things = [
        mesh,
        surface,
        ct.Box(size=(1, 1, 1)),
        ct.Gear(),
        ct.Contact(),
        ct.Wind((1, 0, 0)),
        ct.Voxels(np.zeros((2, 2, 2))),
        ct.Texture(np.zeros((2, 2, 3), np.uint8)),
        ct.Motion.keyframes([0.0, 1.0], [(0, 0, 0), (1, 0, 0)]),
        ct.ForceField.radial((0, 0, 0), 1.0, 1.0),
        ct.load_scene("bridge"),
        Formula("2*x^2", ["x"]),
    ]
    for thing in things:
        for other in (pickled(thing), copy.deepcopy(thing)):
            assert type(other) is type(thing)
    for thing in things[:-1]:
        assert differences(thing, pickled(thing)) == []
    assert pickled(things[-1])(x=3.0) == 18.0


def test_errors_can_be_pickled():
    errors = [
        InputError("wrong", where="key"),
        ct.DivergedError("diverged", body="box", step=3, elements=(1,)),
        OutputError("full", path="file", errno=28),
        MissingExtraError("this", "render"),
        StoppedError("ended"),
        SceneError(["one", "two"]),
    ]
    for error in errors:
        for other in (pickled(error), copy.deepcopy(error)):
            assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))
            assert getattr(other, "errno", None) == getattr(error, "errno", None)
