import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from studio_world import client_of, make_session, make_world

from continua import studio
from continua.errors import InputError
from continua.studio.server import create_app
from continua.studio.server.guard import Policy

HOST = "127.0.0.1:8787"
TOKEN = "a-secret-for-tests"


def stranger():
    """Return a client that does not have the token."""
    app = create_app(make_session(), [], Policy(TOKEN))
    return TestClient(app, base_url=f"http://{HOST}")


@pytest.fixture
def client():
    with client_of(make_session(), [{"name": "test", "description": ""}], TOKEN) as client:
        yield client


def connect(client, query="", **headers):
    return client.websocket_connect(f"ws://{HOST}/ws{query}", headers=headers)


def next_text(socket, kind):
    """Return the next JSON message of a kind, acknowledging the frames that come before it."""
    end = time.perf_counter() + 30
    while time.perf_counter() < end:
        message = socket.receive()
        if message.get("bytes") is not None:
            if (seq := frame_seq(message["bytes"])) is not None:
                socket.send_json({"type": "ack", "seq": seq})
        elif (found := json.loads(message["text"]))["type"] == kind:
            return found
    raise AssertionError(f"no {kind} came")


def frame_seq(data):
    kind, length = struct.unpack_from("<II", data)
    return json.loads(data[8 : 8 + length])["seq"] if kind == 2 else None


def next_frame(socket):
    while True:
        data = socket.receive().get("bytes")
        if data is not None and (seq := frame_seq(data)) is not None:
            return seq


def test_page_is_served_with_security_headers(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert '<div id="root">' in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/assets/studio.js").status_code == 200
    assert "http" not in answer.text  # nothing comes from elsewhere


@pytest.mark.parametrize(
    "path", ["/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/x"]
)
def test_files_outside_of_the_page_are_not_served(client, path):
    assert client.get(path).status_code in (404, 405)


def test_order_of_the_first_messages(client):
    with connect(client, origin=f"http://{HOST}") as socket:
        assert json.loads(socket.receive()["text"])["type"] == "hello"
        assert json.loads(socket.receive()["text"])["type"] == "panel"
        state = json.loads(socket.receive()["text"])
        assert state["type"] == "state"
        assert state["scene"] == "test"
        assert state["worldVersion"] is None
        assert json.loads(socket.receive()["text"]) == {"type": "document", "data": None}  # a world has none
        kinds = []
        while len(kinds) < 2:
            if (data := socket.receive().get("bytes")) is not None:
                kinds.append(struct.unpack_from("<I", data)[0])
        assert kinds == [1, 2]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://[broken"},
    ],
)
def test_foreign_origins_are_refused(client, headers):
    with pytest.raises(WebSocketDisconnect), connect(client, **headers):
        pass


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?other=1"])
def test_requests_without_the_token_are_refused(query):
    with stranger() as client:
        for path in ("/", "/assets/studio.js", "/missing"):
            assert client.get(path + query).status_code == 403
        with pytest.raises(WebSocketDisconnect), connect(client, query):
            pass


def test_token_and_its_cookie_are_accepted():
    with stranger() as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        assert client.get("/assets/studio.js").status_code == 200  # by the cookie
        with connect(client, f"?token={TOKEN}", origin=f"http://{HOST}") as socket:
            assert json.loads(socket.receive()["text"])["type"] == "hello"


def test_every_way_into_the_studio_needs_the_token(client):
    with stranger() as other:
        answer = other.get("/", headers={"accept": "text/html,*/*"})
        assert answer.status_code == 403
        assert answer.headers["content-type"].startswith("text/html")
        assert "open the full address that the studio printed" in answer.text
        for path in (
            "/scene.yaml",
            "/scene.py",
            "/exported/x.html",
            "/upload",
            "/icon.svg",
            f"/{TOKEN[:-1]}/",
        ):
            for method in ("GET", "POST", "HEAD", "PUT"):
                assert other.request(method, path).status_code == 403
        foreign = {
            "host": "evil.example",
            "cookie": "continua_token=x",
        }  # a name that resolves to this machine
        assert other.get("/", headers=foreign).status_code == 403
    assert client.get("/scene.yaml").status_code == 404  # a world made in Python has none


def test_code_of_the_opened_address_is_exchanged_for_the_token_once():
    app = create_app(make_session(), [], Policy(TOKEN, once="only-one-time"))
    with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
        assert client.get("/?once=wrong").status_code == 403
        answer = client.get("/?once=only-one-time")
        assert answer.status_code == 303
        assert answer.headers["location"] == f"./?token={TOKEN}"
        assert client.get("/?once=only-one-time").status_code == 403
        assert client.get("/?once=").status_code == 403


def test_tokens_of_two_policies_differ():
    assert Policy().token != Policy().token
    assert len(Policy().token) >= 24


def test_page_is_sent_compressed(client):
    plain = client.get("/assets/studio.js", headers={"accept-encoding": "identity"})
    packed = client.get("/assets/studio.js", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.text == plain.text
    with client.stream("GET", "/assets/studio.js", headers={"accept-encoding": "gzip"}) as answer:
        sent = sum(map(len, answer.iter_raw()))
    assert sent < 0.4 * len(plain.content)


def test_malformed_messages_are_answered_and_the_connection_stays_open(client):
    with connect(client) as socket:
        for text in ("", "{", '{"type": "explode"}', "x" * 100_000, '{"type":"load_scene","name":"no such"}'):
            socket.send_text(text)
            answer = next_text(socket, "error")
            assert 0 < len(answer["message"]) < 400
        socket.send_bytes(b"\x00\x01")
        assert "text" in next_text(socket, "error")["message"]
        socket.send_json({"type": "pause"})
        while next_text(socket, "state")["playing"]:
            pass


def test_slow_page_skips_frames(client):
    with connect(client) as socket:
        first, second = next_frame(socket), next_frame(socket)
        assert second > first
        time.sleep(1.0)  # two frames are unacknowledged, and no more are sent before one is acknowledged
        socket.send_json({"type": "ack", "seq": second})
        third = next_frame(socket)
        assert third > second + 3


def test_two_pages_agree_and_one_may_disconnect(client):
    with connect(client) as first:
        with connect(client) as second:
            second.send_json({"type": "set_parameter", "key": "world/gravity", "value": [0, -1.62, 0]})
            while next_text(first, "state")["values"]["world/gravity"][1] != -1.62:
                pass
        first.send_json({"type": "pause"})
        while next_text(first, "state")["playing"]:
            pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_port_in_use_is_reported_in_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match=r"port \d+ is in use.*--port"):
            studio.serve(make_world(), port=taken.getsockname()[1], open_browser=False)


@pytest.mark.parametrize(("host", "token"), [("127.0.0.1", "short"), ("0.0.0.0", "with space in it")])
def test_weak_token_is_rejected(host, token):
    with pytest.raises(InputError, match="token"):
        studio.serve(make_world(), host=host, port=0, token=token, open_browser=False)


SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
from studio_world import make_world
from continua import studio
studio.serve(make_world(), host=sys.argv[2], port=int(sys.argv[3]), open_browser=False)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_ctrl_c_stops_the_server_cleanly(host):
    from websockets.sync.client import connect as dial

    port = free_port()
    here = os.path.dirname(__file__)
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, here, host, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        while line and "http://" not in line:
            line = process.stdout.readline()
        query = line[line.index("?token=") :].split()[0]  # a token was made and printed
        assert len(query) > 20
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        refused.value.close()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{query}") as page:
            assert page.status == 200
        with dial(f"ws://127.0.0.1:{port}/ws{query}") as page:
            assert json.loads(page.recv())["type"] == "hello"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "stopped" in out
    assert "Traceback" not in err
