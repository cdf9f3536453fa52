"""Without any extra every shipped scene runs, and what does need an extra names a command that installs it."""

import subprocess
import sys

import pytest

from continua.cli.doctor import EXTRAS
from continua.errors import MissingExtraError, install_command
from continua.scene import shipped_scenes

PROGRAM = """
import importlib.util, sys, tempfile, warnings

class Absent:  # as if the modules of all extras were not installed
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {modules} else find(name, package)
warnings.simplefilter("ignore")
from continua.output import make_sink
from continua.render import picture
from continua.scene import load_scene, shipped_scenes
from continua.scene.run_info import run_info
for name in shipped_scenes():
    scene = load_scene(name)
    frame = scene.build().frame()
    with tempfile.TemporaryDirectory() as folder:
        for kind in scene.output.formats:
            sink = make_sink(kind, folder)
            sink.open(run_info(scene))
            sink.write(frame)
            assert sink.close()
        picture(frame, folder + "/picture.png", **{{**run_info(scene).view, "size": (64, 36)}})
    print(name)
"""


def test_every_shipped_scene_runs_on_the_base_install():
    modules = {module for _, modules in EXTRAS.values() for module in modules}
    program = PROGRAM.format(modules=modules)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(shipped_scenes())


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_remedy_names_the_packages_themselves(extra):
    command = install_command(extra)
    assert command.startswith("python -m pip install ")
    assert "continua" not in command
    assert command in str(MissingExtraError("This", extra))


def test_the_packages_are_those_of_the_extra():
    assert install_command("render").count(">=") == 3
    for package in ("pyvista", "imageio", "imageio-ffmpeg"):
        assert f'"{package}>=' in install_command("render")
