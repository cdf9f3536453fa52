"""What `continua info` tells of a run of a fluid, against the run."""

import json
import subprocess
import sys

import pytest

SCENE = """name: pool
seconds: 0.02
fps: 50
dt: 0.005
bodies:
  - {type: fluid, name: water, block: {min: [0, 0, 0], max: [0.5, 0.5, 0.4]}, particle_radius: 0.0078}
colliders:
  - {type: box, center: [0.25, 0.5, 0.2], size: [0.5, 1, 0.4], inside: true}
"""


def info(path, *options):
    command = [sys.executable, "-m", "continua", "info", str(path), "--json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a process is not known")
def test_the_memory_of_a_run_is_told_within_a_fifth(tmp_path):
    path = tmp_path / "pool.yaml"
    path.write_text(SCENE)
    run = [sys.executable, "-m", "continua", "run", str(path), "-o", str(tmp_path / "out"), "-q"]
    # from a small process: the peak of a child counts what its parent held when it was started
    starter = f"import resource, subprocess; subprocess.run({run!r}, stdout=subprocess.DEVNULL, check=True); "
    starter += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    out = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=True).stdout
    unit = 1 if sys.platform == "darwin" else 1024
    assert info(path)["memory_bytes"] == pytest.approx(int(out) * unit, rel=0.2)


def test_a_probe_tells_the_duration_of_a_run(tmp_path):
    path = tmp_path / "pool.yaml"
    path.write_text(SCENE.replace("0.0078", "0.02"))
    assert info(path)["run_seconds"] is None
    short = info(path, "--probe")["run_seconds"]
    long = info(path, "--probe", "--set", "seconds=2")["run_seconds"]
    assert 30.0 < long / short < 300.0  # a hundred times as many steps


def test_a_probe_of_a_mesh_is_refused(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    command = [sys.executable, "-m", "continua", "info", str(path), "--probe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--probe: runs a scene, and" in done.stderr + done.stdout
