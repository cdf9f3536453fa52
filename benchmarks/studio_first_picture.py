"""How long the studio takes to show a scene when no kernels are compiled yet.

Measured from the start of the process `continua studio SCENE` with an empty kernel cache, over the WebSocket of its
page, as a browser would see it.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["seconds_to_first_picture"]

_TOPOLOGY, _FRAME = 1, 2  # kinds of binary messages


def seconds_to_first_picture(scene: str, cache: Path | None = None, timeout: float = 600.0) -> dict[str, Any]:
    """Start the studio with a scene, and measure when its page gets what.

    Args:
        scene: Name or file of the scene.
        cache: Folder of compiled kernels; a new one, empty and temporary, by default.
        timeout: When to give up [s].

    Returns:
        Seconds from the start of the process: `listening` until the address is printed, `picture` until the first
        picture of the bodies has arrived (at rest, perhaps without a world), `compiling` until the first report of
        compiled kernels or None, `step` until the first step of the world. Besides, `picture_cpu` is the processor time
        of the process at the first picture [s], where the system tells it, and `kernels` how many kernels were compiled
        before the world was built.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CONTINUA_CACHE": str(cache or Path(folder, "kernels"))}
        # bytecode is written by the installation of a package, so it is there before the first start
        environment |= {"PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode")), "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run([sys.executable, "-c", "import continua.studio.server"], env=environment, check=True)
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "continua", "studio", scene, "--no-open", "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            return _watch(process, start, timeout)
        finally:
            process.terminate()
            process.wait()


def _watch(process: subprocess.Popen[str], start: float, timeout: float) -> dict[str, Any]:
    from websockets.sync.client import connect

    assert process.stdout is not None
    found: dict[str, Any] = {
        "listening": None, "picture": None, "picture_cpu": None, "compiling": None, "step": None, "kernels": 0,
    }  # fmt: skip
    address = None
    while address is None:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the studio did not start")
        address = re.search(r"http://\S+", line)

    def now() -> float:
        return round(time.perf_counter() - start, 2)

    found["listening"] = now()
    page, _, query = address.group().partition("?")
    url = f"{page.replace('http', 'ws', 1)}ws{'?' + query if query else ''}"
    bodies = 0
    with connect(url, max_size=None, open_timeout=timeout) as socket:
        while found["step"] is None:
            message = socket.recv(timeout=max(timeout - now(), 0.1))
            if isinstance(message, str):
                state = json.loads(message)
                if state.get("type") == "state" and state.get("total"):
                    found["compiling"] = found["compiling"] or now()
                    found["kernels"] = state["total"]
                continue
            kind, header = _header(message)
            if kind == _TOPOLOGY:
                bodies = len(header["bodies"])
            elif kind == _FRAME:
                socket.send(json.dumps({"type": "ack", "seq": header["seq"]}))
                if bodies and found["picture"] is None:
                    found["picture"], found["picture_cpu"] = now(), _processor_seconds(process.pid)
                if header["step"] > 0:
                    found["step"] = now()
    return found


def _processor_seconds(pid: int) -> float | None:
    """Return the processor time of a process [s], or None where there is no /proc."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _header(message: bytes) -> tuple[int, dict[str, Any]]:
    """Return the kind and the header of a binary message; see `continua.output.wire_format`."""
    kind, length = struct.unpack_from("<II", message)
    return kind, json.loads(message[8 : 8 + length])


if __name__ == "__main__":
    for name in sys.argv[1:] or ["bridge"]:
        print(name, seconds_to_first_picture(name), flush=True)
