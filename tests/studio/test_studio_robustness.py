"""Wrong commands and unfinished requests: each gets one sentence or an end, and nothing is logged."""

import json
import random
import socket
import time
import typing
from contextlib import closing
from http.client import HTTPConnection

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from continua.scene import parse_scene
from continua.studio import protocol
from continua.studio.editor.document import yaml_text
from continua.studio.server import BackgroundServer
from continua.studio.server.request_timeout import RequestTimeoutProtocol
from continua.studio.session.catalog import open_session

SCENE = {
    "name": "block",
    "bodies": [
        {
            "type": "soft",
            "name": "block",
            "mesh": {"type": "box", "cells": [2, 1, 1]},
            "pin": [{"where": "left"}],
        }
    ],
}
COMMANDS = typing.get_args(protocol.Command)
DEEP: list = []
for _ in range(150):
    DEEP = [DEEP]
POOL = [
    None, True, 0, -1, 3, 1.5, 1e15, 1e300, 10**400, 2**63, "", "x", "block", "soft", "box", "html", "x" * 5000, "\x00",
    "\ud800", "../x", [], [[]], [0, 0, 0], [1e15, 1e15, 1e15], ["x", "y", "z"], [0] * 2000, {}, {"type": "box"}, DEEP,
]  # fmt: skip
PATHS = [
    [], [""], [0], ["bodies"], ["bodies", 0], ["bodies", 5], ["bodies", 0, "mesh", "cells"], ["bodies", 0, "pin"],
    ["bodies", 0, "pin", 0, "where"], ["name"], ["gravity"], ["seconds"], ["colliders"], ["a", "b", "c"],
    ["bodies", "x"], ["bodies", 0, 0], ["x" * 200] * 40,
]  # fmt: skip
VALID = {
    "name": "block", "key": "world/gravity", "value": [0, -1, 0], "body": "block", "triangle": 0, "id": 1, "node": 0,
    "barycentric": [1, 0, 0], "target": [0, 0, 0], "field": None, "style": "points", "mode": "none", "levels": [],
    "forces": True, "joints": True, "seq": 0, "axis": None, "kind": "soft", "shape": "box", "traction": 1.0,
    "text": "bodies: []", "format": "none", "on": False, "position": [0, 3, 0], "radius": 0.1, "retreat": [0, 1, 0],
    "points": [[0, 0], [1, 0], [0, 1]], "number": 0, "offset": [0, 0],
    "changes": [{"op": "set", "path": ["description"], "value": "x"}],
}  # fmt: skip


def commands(seed):
    """Return every command with each of its fields missing, wrong or huge, in a random order."""
    choose = random.Random(seed)
    found = []
    for kind in COMMANDS:
        (tag,) = typing.get_args(kind.model_fields["type"].annotation)
        needed = {
            name: VALID[name]
            for name, field in kind.model_fields.items()
            if field.is_required() and name != "type"
        }
        base = {"type": tag, **needed}
        found += [base, {**base, "extra": 1}]
        for name in kind.model_fields:
            found.append({key: value for key, value in base.items() if key != name})
            found += [{**base, name: value} for value in choose.sample(POOL, 8)]
    for path in PATHS:
        for op in ("set", "add", "remove", "move"):
            values = choose.sample(POOL, 3)
            found += [
                {"type": "edit", "changes": [{"op": op, "path": path, "value": value}]} for value in values
            ]
    choose.shuffle(found)
    return found


@pytest.fixture
def server(tmp_path):
    session, scenes = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    server = BackgroundServer(session, scenes)
    yield server, session
    server.stop()


def dial(server):
    return connect(f"ws://127.0.0.1:{server.port}/ws?token={server.policy.token}", max_size=2**27)


def answers_until(page, marker):
    """Return the errors that come before the one about a scene called `marker`."""
    page.send(json.dumps({"type": "load_scene", "name": marker}))
    found = []
    end = time.monotonic() + 120
    while time.monotonic() < end:
        message = page.recv(timeout=60)
        if isinstance(message, bytes):
            continue
        message = json.loads(message)
        if message["type"] == "error":
            if marker in message["message"]:
                return found
            found.append(message["message"])
    raise AssertionError("no answer came")


@pytest.mark.parametrize("seed", [1, 2])
def test_every_wrong_command_is_answered_in_one_sentence(server, capfd, seed):
    server, session = server
    with dial(server) as page:
        for number, command in enumerate(commands(seed)):
            page.send(json.dumps(command))
            if number % 10 == 9:
                for message in answers_until(page, f"marker-{number}"):
                    assert 0 < len(message) < 400, message
                    assert "\n" not in message
                    assert "the command failed" not in message, message
        answers_until(page, "the-end")
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err, (out + err)[-3000:]
    assert session._thread.is_alive()


def drain(page):
    """Receive until the connection is closed."""
    while True:
        page.recv(timeout=30)


def drip(peer):
    """Send lines of a header until the connection is closed."""
    for _ in range(1000):
        peer.sendall(b"X: y\r\n")
        time.sleep(0.05)


def test_oversized_and_binary_messages_leave_no_trace(server, capfd):
    server, _ = server
    with dial(server) as page:
        page.send(b"\x00\xff")
        assert answers_until(page, "marker") == ["commands are text, not binary"]
        page.send("x" * (2 << 20))
        with pytest.raises(ConnectionClosed):
            drain(page)
    with dial(server) as page:  # a page that comes again is served
        assert json.loads(page.recv())["type"] == "hello"
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err


def raw(server, text):
    """Open a connection and send some bytes of a request."""
    peer = socket.create_connection(("127.0.0.1", server.port))
    peer.settimeout(30)
    peer.sendall(text.encode())
    return peer


def upload(server, length):
    return (
        f"POST /upload?token={server.policy.token}&name=a.obj&kind=rigid HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{server.port}\r\nContent-Length: {length}\r\n\r\n"
    )


def test_upload_that_is_cut_off_leaves_no_file_and_no_trace(server, capfd, tmp_path):
    server, _ = server
    for sent in ("", "v 0 0 0\n"):
        with raw(server, upload(server, 1000) + sent):
            time.sleep(0.1)
    with raw(server, upload(server, 2) + "v\n") as peer:  # the next one is answered
        assert b"200 OK" in peer.recv(1000)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert "Exception" not in out + err
    assert not list(tmp_path.glob("*.obj"))


@pytest.mark.parametrize("kind", ["nothing", "header", "second header", "body", "unread body", "slow header"])
def test_requests_that_are_never_completed_are_ended(server, monkeypatch, capfd, kind):
    monkeypatch.setattr(RequestTimeoutProtocol, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(RequestTimeoutProtocol, "STALL_SECONDS", 0.5)
    server, _ = server
    page = f"GET /icon.svg?token={server.policy.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
    begun = {
        "nothing": "",
        "header": "GET / HTTP/1.1\r\nHost: loc",
        "second header": page + "GET / HTTP/1.1\r\n",
        "body": upload(server, 1000) + "v 0",
        "unread body": page.replace("GET", "POST").replace("Host", "Content-Length: 9\r\nHost") + "v 0",
        "slow header": "GET / HTTP/1.1\r\n",
    }[kind]
    with raw(server, begun) as peer:
        if kind == "slow header":
            with pytest.raises(OSError, match=r"pipe|reset"):
                drip(peer)
        else:
            while peer.recv(65536):  # until the server closes it
                pass
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err


def test_pages_and_complete_requests_are_not_ended(server, monkeypatch):
    monkeypatch.setattr(RequestTimeoutProtocol, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(RequestTimeoutProtocol, "STALL_SECONDS", 0.3)
    server, _ = server
    http = HTTPConnection("127.0.0.1", server.port)
    with dial(server) as page, closing(http):
        for _ in range(5):  # longer than a header may take, in all
            http.request("GET", f"/icon.svg?token={server.policy.token}")
            with http.getresponse() as answer:
                assert answer.status == 200
                answer.read()
            connection = http.sock
            time.sleep(0.2)
        assert http.sock is connection  # it was used again
        answers_until(page, "still there")
