"""`continua run`: what is in the folder, and that stopped, killed and extended runs give the same bits."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from PIL import Image
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.output import checkpoint

SCENE = """\
name: small
seconds: 0.5
fps: 60
dt: 0.01
bodies:
  - type: soft
    name: block
    mesh: {type: box, size: [1, 0.5, 0.5], cells: [6, 3, 3], origin: [0, 0.1, 0]}
    material: {type: corotated, young: 3e4, poisson: 0.3, density: 1000}
    initial: {angular_velocity: [0, 0, 2]}
  - type: soft
    name: bar
    mesh: {type: box, size: [1, 0.25, 0.25], cells: [4, 1, 1], origin: [0, 1, 1]}
    pin: [{where: left, until: 0.3}]
colliders: [{type: plane}]
output: {checkpoint_every: 7, picture: {size: [160, 90]}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SCENE, encoding="utf-8")
    return tmp_path


def run(*words):
    result = CliRunner().invoke(app, ["run", "small.yaml", *words])
    assert result.exit_code == 0, result.output
    return result


def contents(folder):
    """Return the bytes of all files but the report, which has wall-clock times, and the list of the files."""
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name != "report.json" and path.parent.name != ".continua"
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.yaml").write_text(SCENE, encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(folder / "small.yaml"), "-o", str(folder / "out")])
    assert result.exit_code == 0, result.output
    return contents(folder / "out")


def test_what_is_in_the_folder_and_what_is_said(folder):
    output = run().output
    place = folder / "out" / "small"
    assert {path.name for path in place.iterdir()} == {
        ".continua", "vtu", "small.pvd", "picture.png", "checkpoint.h5", "scene.yaml", "report.json"
    }  # fmt: skip
    assert len(list((place / "vtu").glob("block_*.vtu"))) == 31
    with Image.open(place / "picture.png") as picture:
        assert picture.size == (160, 90)
    assert (place / "scene.yaml").read_text(encoding="utf-8") == SCENE
    report = json.loads((place / "report.json").read_text(encoding="utf-8"))
    assert report["finished"]
    assert (report["frames"], report["steps"]) == (31, 60)
    assert report["this_run"]["solver_iterations"] > 60
    saved = checkpoint.load(place / "checkpoint.h5")
    assert (saved.frames_done, saved.state["world/time"]) == (31, 0.5)
    for words in (
        "done: 0.5 s in 60 steps, 31 frames",
        "picture.png",
        "ParaView",
        "--resume",
        "continua studio",
    ):
        assert words in output
    assert "\x1b" not in output  # no control codes where there is no terminal
    info = CliRunner().invoke(app, ["info", str(place / "checkpoint.h5")]).stdout
    assert "0.5 of 0.5 s" in info
    assert "31 of 31" in info


def test_quiet_says_nothing(folder):
    result = run("--quiet", "--seconds", "0.05")
    assert (result.stdout, result.stderr) == ("", "")


def test_a_folder_in_use_is_left_alone(folder):
    run("--seconds", "0.05")
    before = contents(folder / "out")
    again = CliRunner().invoke(app, ["run", "small.yaml"])
    assert again.exit_code == 2
    assert "holds an earlier run; add --resume to continue, --force to start again" in again.stderr
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("x", encoding="utf-8")
    foreign = CliRunner().invoke(app, ["run", "small.yaml", "-o", "mine"])
    assert foreign.exit_code == 2
    assert "is not empty" in foreign.stderr
    file = CliRunner().invoke(app, ["run", "small.yaml", "-o", "small.yaml"])
    assert file.exit_code == 2
    assert "is a file, not a folder" in file.stderr
    assert contents(folder / "out") == before
    assert [path.name for path in (folder / "mine").iterdir()] == ["thesis.txt"]


def test_force_starts_anew_and_keeps_what_is_not_its_own(folder, uninterrupted):
    place = folder / "out" / "small"
    run("--seconds", "0.6", "--format", "vtu,ply,obj")
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    run("--seconds", "0.7", "--format", "vtu,ply,obj", "--resume")
    run("--force")
    assert (place / "notes.txt").read_text(encoding="utf-8") == "mine"
    (place / "notes.txt").unlink()
    assert contents(place) == uninterrupted


def test_force_removes_no_file_that_a_user_added_during_the_run(folder):
    place = folder / "out" / "small"
    process = start(folder, "--format", "vtu,ply")
    wait_for(process, place / "vtu" / "block_000003.vtu")
    mine = [
        place / "notes.txt",
        place / "vtu" / "notes.txt",
        place / "vtu" / "mine_000001.vtu",
        place / ".hidden.tmp.vtu",
    ]
    for path in mine:
        path.write_text("mine", encoding="utf-8")
    wait_for(process, place / "vtu" / "block_000010.vtu")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with pytest.warns(UserWarning, match="obj: 7 frames from 0 to 6 are left out"):
        run("--seconds", "0.3", "--format", "vtu,ply,obj", "--resume")
    run("--seconds", "0.05", "--format", "obj", "--force")
    assert [path.read_text(encoding="utf-8") for path in mine] == ["mine"] * len(mine)
    assert {path.name for path in place.iterdir()} == {
        ".continua", ".hidden.tmp.vtu", "notes.txt", "vtu",
        "obj", "picture.png", "checkpoint.h5", "scene.yaml", "report.json",
    }  # fmt: skip
    assert sorted(path.name for path in (place / "vtu").iterdir()) == ["mine_000001.vtu", "notes.txt"]


def test_force_deletes_nothing_that_a_report_or_list_names_elsewhere(folder):
    place = folder / "out" / "small"
    run("--seconds", "0.05")
    (folder / "out" / "thesis.txt").write_text("mine", encoding="utf-8")
    (place / "report.json").write_text('{"entries": ["..", "../thesis.txt", "/"]}', encoding="utf-8")
    with open(place / ".continua" / "files", "a", encoding="utf-8") as file:
        file.write("..\n../thesis.txt\n../\n/\n")
    run("--seconds", "0.05", "--force")
    assert (folder / "out" / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert (folder / "small.yaml").exists()


def test_a_file_in_the_place_of_a_result_is_not_overwritten(folder):
    place = folder / "out" / "small"
    place.mkdir(parents=True)
    (place / "picture.png").write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "small.yaml", "--force", "--seconds", "0.05"])
    assert result.exit_code == 2
    assert "picture.png: this file was not written by a run" in result.stderr
    assert (place / "picture.png").read_text(encoding="utf-8") == "mine"


def test_two_runs_do_not_share_a_folder(folder):
    place = folder / "out" / "small"
    process = start(folder)
    wait_for(process, place / "vtu" / "block_000001.vtu")
    for words in ((), ("--resume",), ("--force",)):
        result = CliRunner().invoke(app, ["run", "small.yaml", *words])
        assert result.exit_code == 2
        assert f"another run (process {process.pid} on" in result.stderr
        assert len(result.stderr.splitlines()) == 1
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    run("--seconds", "0.1", "--resume")


def test_a_format_that_is_added_on_resume_starts_with_a_sentence(folder, uninterrupted):
    place = folder / "out" / "small"
    run("--seconds", "0.2")
    with pytest.warns(UserWarning, match="ply: 13 frames from 0 to 12 are left out"):
        run("--resume", "--format", "vtu,ply")
    assert min(path.name for path in (place / "ply").iterdir()) == "bar_000013.ply"
    same = contents(place)
    assert {name for name in uninterrupted if same[name] != uninterrupted[name]} == {
        "checkpoint.h5"
    }  # its scene
    said = run("--resume", "--format", "vtu,ply,obj").stdout
    assert "this run is finished" in said
    assert "it did not write obj: run again with --force" in said


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_after_making_room(
    folder, uninterrupted, monkeypatch
):
    place = folder / "out" / "small"
    real = os.replace

    def full(source, goal):
        if (
            str(goal).endswith(("_000017.vtu", "checkpoint.h5"))
            and (place / "vtu" / "block_000016.vtu").exists()
        ):
            raise OSError(28, "No space left on device")
        real(source, goal)

    monkeypatch.setattr(os, "replace", full)
    result = CliRunner().invoke(app, ["run", "small.yaml"])
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert "_000017.vtu: cannot be written (No space left on device)" in result.stderr
    assert "continua run small.yaml -o out/small --resume" in result.stderr
    assert checkpoint.load(place / "checkpoint.h5").frames_done == 14
    run("--resume")
    assert contents(place) == uninterrupted


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("kind", ["vtu", "png", "glb", "usd", "mp4"])
def test_a_disk_that_is_really_full(folder, small_disk, kind):
    place = small_disk / "out"
    fill = small_disk / "ballast"
    fill.write_bytes(bytes(800_000))
    code = "from continua.cli import main; main()"
    words = ["run", "small.yaml", "-o", str(place), "--format", kind, "--seconds", "1.5"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be written (No space left on device)" in done.stderr.splitlines()[-1]
    if (place / "checkpoint.h5").exists():
        checkpoint.load(place / "checkpoint.h5")
    assert not [path for path in place.rglob("*") if ".tmp" in path.name]


def test_a_finished_run_says_so(folder):
    run("--seconds", "0.1")
    before = contents(folder / "out")
    assert "this run is finished (7 frames)" in run("--seconds", "0.1", "--resume").stdout
    assert contents(folder / "out") == before


def test_a_longer_run_goes_on_with_the_same_bits(folder, uninterrupted):
    run("--seconds", "0.2")
    assert "continuing at 0.2 s" in run("--resume").stderr
    assert contents(folder / "out" / "small") == uninterrupted


def test_a_changed_scene_is_not_resumed(folder):
    run("--seconds", "0.1")
    before = contents(folder / "out")
    (folder / "small.yaml").write_text(SCENE.replace("3e4", "4e4"), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "small.yaml", "--resume"])
    assert result.exit_code == 2
    assert "the scene is not the one this run was started with" in result.stderr
    assert contents(folder / "out") == before


def test_other_meshes_are_not_taken_for_those_of_the_run(folder, monkeypatch):
    run("--seconds", "0.1")
    before = contents(folder / "out")
    box = ct.mesh.box
    monkeypatch.setattr(ct.mesh, "box", lambda *a, **k: box(*a, **k).transformed(scale=1.5))
    result = CliRunner().invoke(app, ["run", "small.yaml", "--resume"])
    assert result.exit_code == 2
    assert "the meshes are not those this run was started with" in result.stderr
    assert contents(folder / "out") == before


def test_a_damaged_checkpoint_is_not_resumed(folder):
    run("--seconds", "0.1")
    path = folder / "out" / "small" / "checkpoint.h5"
    path.write_bytes(path.read_bytes()[:1000])
    result = CliRunner().invoke(app, ["run", "small.yaml", "--resume"])
    assert result.exit_code == 2
    assert "checkpoint.h5" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_resume_without_a_run_starts_one(folder):
    run("--resume", "--seconds", "0.05")
    assert (folder / "out" / "small" / "picture.png").is_file()


def test_divergence_is_told_and_the_last_good_state_is_kept(folder, monkeypatch):
    step = ct.World.step

    def break_later(world, dt=None):
        if world.step_index == 20:
            raise ct.DivergedError("body 'block' diverged in step 21", body="block", step=21)
        return step(world, dt)

    monkeypatch.setattr(ct.World, "step", break_later)
    result = CliRunner().invoke(app, ["run", "small.yaml"])
    assert result.exit_code == 3
    assert "diverged in step 21" in result.stderr
    assert checkpoint.load(folder / "out" / "small" / "checkpoint.h5").frames_done == 7
    report = json.loads((folder / "out" / "small" / "report.json").read_text(encoding="utf-8"))
    assert not report["finished"]


def start(folder, *words):
    """Start a slowed-down run in a process of its own."""
    code = "import time, continua.world as w; s = w.World.step\n"
    code += "def slow(*a): time.sleep(0.02); return s(*a)\n"
    code += "w.World.step = slow\nfrom continua.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", "small.yaml", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for(process, path):
    deadline = time.monotonic() + 240
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_run_goes_on_with_the_same_bits(folder, uninterrupted):
    place = folder / "out" / "small"
    process = start(folder)
    wait_for(process, place / "vtu" / "block_000010.vtu")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert checkpoint.load(place / "checkpoint.h5").frames_done == 7
    assert not (place / "picture.png").exists()
    run("--resume")
    assert contents(place) == uninterrupted


def test_ctrl_c_saves_and_says_how_to_go_on(folder, uninterrupted):
    place = folder / "out" / "small"
    process = start(folder)
    wait_for(process, place / "vtu" / "block_000003.vtu")
    process.send_signal(signal.SIGINT)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == 130
    assert "continua run small.yaml -o out/small --resume" in said
    assert "Traceback" not in said
    saved = checkpoint.load(place / "checkpoint.h5")
    assert 4 <= saved.frames_done < 31
    assert "\x1b" not in said
    run("--resume")
    assert contents(place) == uninterrupted


def test_a_warning_is_one_sentence(folder):
    (folder / "two.yaml").write_text(
        "name: two\nseconds: 0.01\nbodies:\n"
        "  - {type: soft, name: a, mesh: {type: box, cells: [1, 1, 1]}}\n"
        "  - {type: soft, name: b, mesh: {type: box, cells: [1, 1, 1]}}\n"
    )
    words = [sys.executable, "-c", "from continua.cli import main; main()", "run", "two.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    assert "continua: 'a' and 'b' overlap at the start" in done.stderr
    assert "UserWarning" not in done.stderr


def test_compiling_is_not_part_of_the_other_times(folder, monkeypatch):
    """The seconds of kernels that compile in a step, or before the run, are never taken from those of the steps."""
    for module in ("run", "timing"):
        monkeypatch.setattr(f"continua.cli.{module}.compile_stats", lambda: (5, 1000.0))
    run("--seconds", "0.1")
    report = json.loads((folder / "out/small/report.json").read_text(encoding="utf-8"))["this_run"]
    times = {key: value for key, value in report.items() if key.startswith("seconds_") and value != {}}
    stages = times.pop("seconds_of_stages")
    assert min(times.values()) >= 0.0
    assert (report["seconds_compiling"], report["kernels_compiled"]) == (0.0, 0)  # this run's alone
    assert 0.0 < sum(stages.values()) - stages.get("compiling", 0.0) <= report["seconds_stepping"] + 0.01


KILLED_WHILE_DRAWING = """\
import os, signal, sys
from continua.cli import main
from continua.render import Painter
how, paint, drawn = getattr(signal, sys.argv.pop()), Painter.paint, []
def paint_or_die(self, frame):
    drawn.append(frame.index)
    if len(drawn) == 4:
        os.kill(os.getpid(), how)
    return paint(self, frame)
Painter.paint = paint_or_die
main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_run_ended_while_its_film_is_drawn_goes_on(folder, how):
    words = ["--format", "gif", "--fps", "20"]
    run(*words, "-o", "whole")
    command = [sys.executable, "-c", KILLED_WHILE_DRAWING, "run", "small.yaml", *words, "-o", "ended", how]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if how == "SIGKILL":
        assert ended.returncode == -signal.SIGKILL
    else:
        assert ended.returncode == 130
        assert ended.stdout.startswith(
            "stopped while files were drawn; go on with\n  continua run small.yaml"
        )
    assert not (folder / "ended/small.gif").exists()
    run(*words, "-o", "ended", "--resume")
    assert contents(folder / "ended") == contents(folder / "whole")


def test_drawing_is_a_stage_with_a_percentage_and_is_in_the_report(folder, monkeypatch):
    monkeypatch.setattr("continua.cli.progress.PLAIN_INTERVAL", 0.0)
    shown = run("--format", "gif", "--fps", "20").stderr
    assert "drawing gif   5 / 11    45 %" in shown
    assert "steps/s" in shown
    assert " left" in shown
    report = json.loads((folder / "out/small/report.json").read_text(encoding="utf-8"))["this_run"]
    assert report["seconds_drawing"] > 0.0
