"""Warnings of steps: raised at growing intervals, counted in frames, summed up at the end of a run."""

import json
import pickle
import struct
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.frames import StepReport
from continua.step_warnings import RateLimiter, WarningTally
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene

SCENE = """\
name: small
seconds: 0.2
fps: 10
dt: 0.01
bodies:
  - type: soft
    name: bar
    mesh: {type: box, size: [1, 0.5, 0.5], cells: [2, 1, 1]}
    material: {type: corotated, young: 1e6}
    integrator: {type: explicit}
output: {picture: {size: [160, 90]}}
"""


def world(name="bar"):
    """Return a world whose steps are too long for the explicit integrator, which each of them says."""
    bar = ct.SoftBody(
        ct.mesh.box(size=(1, 0.5, 0.5), cells=(2, 1, 1)),
        material=ct.Corotated(young=1e6),
        integrator="explicit",
        name=name,
    )
    return ct.World([bar], dt=0.01)


def report(step, *texts, body="bar"):
    return StepReport(body, step, 0.01 * step, 0.01, warnings=texts)


def test_a_run_raises_the_first_warning_of_each_kind_and_later_ones_with_their_number():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frames = list(world().run(1.2, 10))
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert said[0].startswith("body 'bar', step 1: the step is above the stability limit")
    assert said[1].startswith("body 'bar', step 101: ")
    assert said[1].endswith("(in 100 of the last 100 steps)")
    assert all(warning.filename == __file__ for warning in caught)
    assert [(w.body, w.count, w.step) for frame in frames for w in frame.warnings] == [
        ("bar", 10, 10 * k) for k in range(1, 13)
    ]


def test_steps_return_their_warnings_and_do_not_raise_them():
    one = world()
    for _ in range(3):
        assert one.step()[0].warnings  # pytest turns Python warnings into errors
    assert [(w.count, w.step) for w in one.frame().warnings] == [(3, 3)]
    assert one.frame().warnings == one.frame().warnings
    one.step()
    assert [(w.count, w.step) for w in one.frame().warnings] == [(1, 4)]
    one.reset()
    assert one.frame().warnings == ()


def test_frames_keep_their_warnings_when_pickled_and_the_world_goes_on():
    one = world()
    one.step()
    frame = one.frame()
    copy = pickle.loads(pickle.dumps(one))
    one.step()
    copy.step()
    assert pickle.loads(pickle.dumps(frame)).warnings == frame.warnings
    assert [warning.count for warning in frame.warnings] == [1]
    assert copy.frame().warnings == one.frame().warnings
    np.testing.assert_array_equal(copy.bodies[0].positions, one.bodies[0].positions)


def test_frames_of_a_run_have_all_warnings_also_when_others_look_meanwhile():
    with pytest.warns(UserWarning, match="stability"):
        frames = list(world().run(0.2, 10, progress=lambda world, _: world.frame()))
    assert [frame.warnings[0].count for frame in frames[1:]] == [10, 10]


def test_sentences_that_differ_only_in_numbers_are_one_kind():
    tally = WarningTally()
    tally.add([report(1, "3 of 80 are inverted", "residual 1.5e-03"), report(1, "odd", body="other")])
    tally.add([report(2, "12 of 80 are inverted", "4 of 80 are inverted", "residual 2e-10")])
    assert [(w.body, w.text, w.count, w.step) for w in tally.counts] == [
        ("bar", "4 of 80 are inverted", 2, 2),
        ("bar", "residual 2e-10", 2, 2),
        ("other", "odd", 1, 1),
    ]


def test_intervals_grow():
    limiter = RateLimiter()
    said = [k for k in range(1, 4001) if k % 2 and limiter.select([report(k, f"{k} odd")])]
    assert said == [1, 101, 601, 3101]
    assert limiter.select([report(4001, "even")]) == ["body 'bar', step 4001: even"]
    limiter.clear()
    assert limiter.select([report(4002, "5 odd")]) == ["body 'bar', step 4002: 5 odd"]


def test_a_run_of_a_scene_counts_the_kinds_of_its_warnings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SCENE)
    result = CliRunner().invoke(app, ["run", "small.yaml"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("warning: ") == 1
    assert "1 kind of warnings, also in" in result.stdout
    assert "bar: the step is above the stability limit" in result.stdout
    assert "(20 steps, the last was step 20)" in result.stdout
    kinds = json.loads((tmp_path / "out" / "small" / "report.json").read_text())["this_run"]
    assert [(kind["body"], kind["count"], kind["step"]) for kind in kinds["kinds_of_warnings"]] == [
        ("bar", 20, 20)
    ]


def test_the_studio_counts_warnings_until_the_scene_changes():
    session = Session("bar", lambda _: SessionScene(world(), play=False))
    session.run_to(0.05)
    assert [(w.count, w.step) for w in session.snapshot.warnings] == [(5, 5)]
    encoder = FrameEncoder()
    encoder.encode_topology(session.snapshot)
    message = encoder.encode_frame(session.snapshot)
    header = json.loads(message[8 : 8 + struct.unpack("<II", message[:8])[1]])
    assert [(w["body"], w["count"], w["step"]) for w in header["warnings"]] == [("bar", 5, 5)]
    session._clear_messages()
    session.run_to(0.07)
    assert [(w.count, w.step) for w in session.snapshot.warnings] == [(2, 7)]


@pytest.mark.parametrize(
    "body",
    [
        lambda: ct.SoftBody(ct.mesh.box(), name="a"),
        lambda: ct.RigidBody(ct.Sphere(radius=0.1), density=1000, name="a"),
        lambda: ct.Fluid(((0, 0, 0), (0.2, 0.2, 0.2)), particle_radius=0.02, name="a"),
        lambda: ct.Smoke(size=(1, 1), cells=(8, 8), name="a"),
    ],
    ids=["soft", "rigid", "fluid", "smoke"],
)
def test_steps_are_counted_from_1_by_every_kind_of_body(body):
    one = ct.World([body()], dt=0.01)
    assert [one.step()[0].step for _ in range(3)] == [1, 2, 3]
    assert one.step_index == 3
