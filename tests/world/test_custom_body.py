"""A kind of body that is defined here alone: worlds step it, and scene files, frames, files and the studio know it.

It touches no file of Continua, so it shows what a new kind needs; see `continua.registry`.
"""

import json
from types import MappingProxyType
from typing import ClassVar, Literal

import meshio
import numpy as np
import pytest
from typer.testing import CliRunner

import continua as ct
from continua import registry
from continua.cli import app
from continua.deformable import DeformableBody
from continua.frames import BodyFields, BodyFrame, Field, StepReport, readonly_copy
from continua.output import checkpoint
from continua.scene import Scene, load_scene, parse_scene
from continua.scene.types import Count, Model, Name, Number, Vector, option
from continua.studio.editor.templates import templates
from continua.studio.protocol import AddShape
from continua.studio.session.catalog import open_session
from continua.system import System

G = 9.81


class Chain:
    """Particles in a row, joined by springs [N/m]; the first one may be held."""

    triangles = np.zeros((0, 3), np.int32)
    notes = ()
    color = None

    def __init__(self, start, count=5, spacing=0.1, mass=0.1, stiffness=200.0, held=True, name=""):
        self.name, self.mass, self.stiffness, self.held = name, mass, stiffness, held
        self.spacing = spacing
        self.rest_positions = np.array(start, float) + spacing * np.arange(count)[:, None] * [1.0, 0.0, 0.0]
        self.reset()

    @property
    def node_count(self):
        return len(self.rest_positions)

    @property
    def mass_total(self):
        return self.mass * self.node_count

    @property
    def positions(self):
        return self.x.copy()

    def prepare(self, environment):
        self.around = environment

    def forces(self):
        edge = np.diff(self.x, axis=0)
        length = np.linalg.norm(edge, axis=1, keepdims=True)
        pull = self.stiffness * (length - self.spacing) * edge / length
        force = self.mass * np.tile(self.around.gravity, (self.node_count, 1))
        force[:-1] += pull
        force[1:] -= pull
        return force

    def advance(self, dt):
        """Symplectic Euler."""
        self.v += dt / self.mass * self.forces()
        if self.held:
            self.v[0] = 0.0
        self.x += dt * self.v

    def frame(self, fields=()):
        about = {"velocity": Field(readonly_copy(self.v), "m/s")}
        cells = {"vertex": np.arange(self.node_count, dtype=np.int32)[:, None]}
        x = readonly_copy(self.x)
        return BodyFrame(
            self.name, "chain", x, self.rest_positions, MappingProxyType(cells), self.triangles,
            BodyFields(about), energy=self.energy(), point_radius=0.02,
        )  # fmt: skip

    def energy(self):
        return {"kinetic": 0.5 * self.mass * float((self.v**2).sum())}

    def state(self):
        return {"x": self.x.copy(), "v": self.v.copy()}

    def restore(self, state):
        self.x, self.v = np.array(state["x"]), np.array(state["v"])

    def reset(self):
        self.x, self.v = self.rest_positions.copy(), np.zeros_like(self.rest_positions)

    def summary(self):
        return {"links": self.node_count - 1}

    def geometry_bytes(self):
        return self.rest_positions.tobytes()


class ChainSystem(System):
    """All chains, one after the other; `steps_done` shows that a system has a state of its own."""

    kinds: ClassVar = (Chain,)
    steps_done = 0

    def step(self, dt):
        for chain in self.bodies:
            chain.advance(dt)
        self.steps_done += 1
        around = self.context.environment
        return [StepReport(chain.name, around.step + 1, around.time + dt, dt) for chain in self.bodies]

    def snapshot(self):
        return super().snapshot(), self.steps_done

    def rollback(self, snapshot):
        super().rollback(snapshot[0])
        self.steps_done = snapshot[1]

    def state(self):
        return {"steps_done": self.steps_done}

    def restore(self, state):
        self.steps_done = int(state["steps_done"])

    def reset(self):
        super().reset()
        self.steps_done = 0


class ChainModel(Model):
    """Particles in a row, joined by springs."""

    type: Literal["chain"] = option("Particles joined by springs.")
    name: Name = option("Name of the body.")
    start: Vector = option("Where the first particle is.", (0.0, 0.0, 0.0), unit="m")
    count: Count = option("Number of particles.", 5, ge=2, le=1000)
    stiffness: Number = option("Stiffness of a spring.", 200.0, unit="N/m", gt=0, le=1e9)


def build_chain(scene, number):
    spec = scene.bodies[number]
    with scene.at("bodies", number):
        return Chain(spec.start, spec.count, stiffness=spec.stiffness, name=spec.name)


def chain_template(shape, name, position, ground):
    return {"type": "chain", "name": name, "start": list(position)}


KIND = registry.BodyKind(
    tag="chain", model=ChainModel, label="Chain of particles", build=build_chain, template=chain_template
)

SCENE = """
seconds: 0.1
fps: 20
dt: 0.01
bodies:
  - {type: chain, name: rope, start: [0, 1, 0], count: 4}
  - {type: soft, name: block, mesh: {type: box, cells: [1, 1, 1]}, pin: [{where: left}]}
  - {type: rigid, name: ball, shape: {type: sphere, radius: 0.1}, transform: {translate: [0, 5, 0]}}
"""


@pytest.fixture(autouse=True, scope="module")
def _registered():
    registry.register_system(ChainSystem)
    registry.register_body(KIND)
    yield
    registry.unregister_body("chain")
    registry.unregister_system(ChainSystem)


def mixed_world(**options):
    block = ct.SoftBody(ct.mesh.box(cells=(1, 1, 1)), name="block")
    ball = ct.RigidBody(ct.Sphere((0.0, 5.0, 0.0), 0.1), density=1000.0, name="ball")
    return ct.World([Chain((0, 2, 0), name="rope", **options), block, ball], dt=0.01)


def assert_same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, two[key], err_msg=key)


def test_it_is_stepped_beside_soft_and_rigid_bodies():
    world = mixed_world(held=False)
    rope, _, ball = world.bodies
    n, dt = 10, 0.01
    for _ in range(n):
        reports = world.step()
    assert [report.body for report in reports] == ["rope", "block", "ball"]
    fall = -G * dt**2 * n * (n + 1) / 2  # symplectic Euler of a free fall, exactly
    center = rope.positions.mean(axis=0) - rope.rest_positions.mean(axis=0)
    np.testing.assert_allclose(center, [0.0, fall, 0.0], atol=1e-13)
    assert ball.positions[:, 1].mean() == pytest.approx(5.0 - 0.5 * G * (n * dt) ** 2, abs=G * dt**2 * n)
    assert world.system(Chain).steps_done == n
    assert world.bodies_of(Chain) == (rope,)
    assert world.energy()["kinetic"] > rope.energy()["kinetic"] > 0.0


def test_it_hangs_in_equilibrium_as_statics_says():
    """Masses below the first spring pull it: its stretch is (n - 1) m g / k."""
    rope = Chain((0, 0, 0), count=3, name="rope")
    rope.x = np.array([[0.0, 0.0, 0.0], [0.0, -0.1 - 2 * 0.1 * G / 200.0, 0.0], [0.0, 0.0, 0.0]])
    rope.x[2] = rope.x[1] - [0.0, 0.1 + 0.1 * G / 200.0, 0.0]
    start = rope.positions
    world = ct.World([rope], dt=0.001)
    for _ in range(20):
        world.step()
    np.testing.assert_allclose(rope.positions, start, atol=1e-12)


def test_it_is_rolled_back_when_another_body_diverges():
    world = mixed_world()
    world.step()
    before = world.state()
    push = world.body("block").push([0], (1e40, 0, 0))
    push.force = (1e40, 0, 0)
    with pytest.raises(ct.DivergedError, match="'block'"):
        world.step()
    assert_same(before, world.state())
    push.remove()
    world.step()
    assert world.system(Chain).steps_done == 2


def test_it_restarts_bitwise_and_resets():
    straight, second = mixed_world(), mixed_world()
    states = []
    for _ in range(6):
        states.append(straight.state())
        straight.step()
    second.restore(states[3])
    while second.step_index < 6:
        second.step()
    assert_same(straight.state(), second.state())
    straight.reset()
    assert_same(states[0], straight.state())


def test_it_is_in_scene_files_and_their_schema():
    scene = parse_scene(SCENE)
    assert isinstance(scene.bodies[0], ChainModel)
    world = scene.build()
    assert [type(body).__name__ for body in world.bodies] == ["Chain", "SoftBody", "RigidBody"]
    schema = Scene.model_json_schema()
    assert schema["$defs"]["ChainModel"]["properties"]["stiffness"]["unit"] == "N/m"
    for text, message in (
        ("{type: chian, name: rope}", "did you mean 'chain'"),
        ("{type: none, name: rope}", "'liquid', 'wind_tunnel', 'chain'"),
        ("{type: chain, name: rope, count: 1}", r"bodies\[0\].count: must be at least 2"),
        ("{type: chain, name: rope, conut: 3}", "did you mean 'count'"),
    ):
        with pytest.raises(ct.InputError, match=message):
            parse_scene(f"bodies: [{text}]")


def test_the_command_line_runs_it_and_its_files_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rope.yaml").write_text(SCENE)
    about = CliRunner().invoke(app, ["info", "rope.yaml"])
    assert "3 links" in about.output
    assert "chain of particles" in about.output
    result = CliRunner().invoke(app, ["run", "rope.yaml", "-o", "out", "--quiet"])
    assert result.exit_code == 0, result.output
    frames = list(load_scene("rope.yaml").build().run(seconds=0.1, fps=20))
    mesh = meshio.read(tmp_path / "out" / "vtu" / "rope_000002.vtu")
    np.testing.assert_array_equal(mesh.points, frames[2]["rope"].positions)
    np.testing.assert_allclose(mesh.point_data["velocity"], frames[2]["rope"]["velocity"], rtol=1e-6)
    saved = checkpoint.load(tmp_path / "out" / "checkpoint.h5")
    np.testing.assert_array_equal(saved.state["rope/x"], frames[2]["rope"].positions)
    assert saved.state["world/ChainSystem/steps_done"] == 10


def test_a_run_is_resumed_from_its_checkpoint_bitwise(tmp_path):
    scene = parse_scene(SCENE)
    straight = scene.build()
    list(straight.run(seconds=0.1, fps=20))
    first = scene.build()
    for frame in first.run(seconds=0.1, fps=20):
        if frame.index == 1:
            break
    checkpoint.save(tmp_path / "c.h5", first, scene.text, frames_done=2, seconds=0.1, fps=20)
    second = parse_scene(checkpoint.load(tmp_path / "c.h5").scene).build()
    second.restore(checkpoint.load(tmp_path / "c.h5").state)
    list(second.run(seconds=0.1, fps=20))
    assert_same(straight.state(), second.state())


def test_the_studio_lists_and_adds_it(tmp_path):
    (tmp_path / "rope.yaml").write_text(SCENE)
    session, _ = open_session(tmp_path / "rope.yaml")
    tree = session.editor.message["data"]["bodies"]
    assert [(body["type"], body["name"]) for body in tree[:1]] == [("chain", "rope")]
    panel = {body["name"]: body for body in session.publisher.panel_message["bodies"]}
    assert panel["rope"]["summary"] == ["Chain", "3 links"]
    assert {body.name for body in session.snapshot.frame} == {"rope", "block", "ball"}
    assert templates()["kinds"]["chain"] == "Chain of particles"
    assert templates()["shapesByKind"]["chain"] == ["chain"]
    session._run_command(1, AddShape(type="add_shape", kind="chain", shape="chain"))
    session._build()
    assert session.editor.build_error is None
    assert [type(body).__name__ for body in session._world.bodies].count("Chain") == 2
    json.dumps([session.editor.message, session.publisher.panel_message, templates()], allow_nan=False)


def test_registrations_that_cannot_work_are_refused():
    class Another(Model):
        type: Literal["chain"] = option("Another chain.")
        name: Name = option("Name.")

    class Nameless(Model):
        type: Literal["nameless"] = option("No name.")

    class Greedy(System):
        kinds: ClassVar = (DeformableBody,)

        def step(self, dt):
            return ()

    with pytest.raises(ct.InputError, match="choose another tag"):
        registry.register_body(registry.BodyKind(tag="chain", model=Another, build=build_chain))
    with pytest.raises(ct.InputError, match="'name'"):
        registry.register_body(registry.BodyKind(tag="nameless", model=Nameless, build=build_chain))
    with pytest.raises(ct.InputError, match="Literal"):
        registry.register_body(registry.BodyKind(tag="rope", model=ChainModel, build=build_chain))
    with pytest.raises(ct.InputError, match="takes already"):
        registry.register_system(Greedy)
    with pytest.raises(ct.InputError, match="must be a body"):
        ct.World([type("Stone", (), {"name": "stone", "prepare": lambda self, around: None})()])
    assert parse_scene(SCENE).bodies[0].count == 4


def test_a_package_can_name_its_module_as_an_entry_point(monkeypatch):
    """What is installed is imported when a scene is loaded; one that is broken is warned of."""
    loaded = []

    class Entry:
        name, dist = "chains", None

        def load(self):
            loaded.append(self.name)
            raise ImportError("no chains today")

    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [Entry()] if group == registry.ENTRY_POINTS else []
    )
    registry.load_plugins.cache_clear()
    with pytest.warns(UserWarning, match="'chains' cannot be loaded: no chains today"):
        parse_scene(SCENE)
    parse_scene(SCENE)  # once is enough
    assert loaded == ["chains"]
