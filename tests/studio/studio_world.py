"""Small worlds for the studio's tests."""

import numpy as np
from starlette.testclient import TestClient

import continua as ct
from continua.errors import DivergedError, InputError
from continua.studio.server import create_app
from continua.studio.server.guard import Policy
from continua.studio.session.session import Session
from continua.studio.session.snapshot import Listener, SessionScene


def make_world():
    """Return a beam pinned at its left end that starts to sag."""
    beam = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(6, 2, 2)),
        material=ct.Corotated(young=2e5, poisson=0.3, density=1000.0),
        damping=(1.0, 0.0),
        name="beam",
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    return ct.World([beam], dt=0.01, colliders=[ct.Plane((0, -1, 0), (0, 1, 0))], name="beam test")


def client_of(session, scenes=(), token="a-secret-for-tests"):
    """Return a client of a studio that has its token."""
    app = create_app(session, list(scenes), Policy(token))
    return TestClient(app, base_url="http://127.0.0.1:8787", cookies={"continua_token": token})


def make_session(world=None):
    def load(name):
        if name != "test":
            raise InputError(f'there is no scene called "{name}" in the list')
        return SessionScene(make_world() if world is None else world)

    return Session("test", load)


class ListenerLog:
    """A listener that records its notifications."""

    def __init__(self):
        self.changes = 0
        self.failures = []
        self.questions = []
        self.listener = Listener(
            changed=self._changed,
            failed=lambda *failure: self.failures.append(failure),
            asked=self.questions.append,
        )

    def _changed(self):
        self.changes += 1


class FragileWorld:
    """A world that diverges at its fifth step, as with a time step that is far too long."""

    def __init__(self):
        self._world = make_world()
        self.diverges = True

    def __getattr__(self, name):
        return getattr(self._world, name)

    def step(self):
        if self.diverges and self._world.step_index == 4:
            raise DivergedError("body 'beam' diverged in step 5", body="beam", step=5)
        return self._world.step()


def tip(frame):
    """Return the mean position of the nodes at the free end."""
    body = frame["beam"]
    return body.positions[np.isclose(body.rest_positions[:, 0], 1.0)].mean(axis=0)
