"""The wheel and the sdist are complete: what is built from this folder installs, runs and can be tested."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
"""That of this process without its paths and options."""


def run(*command, cwd):
    """Run a command and return what it printed."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@dataclass
class Installation:
    """A virtual environment with Continua from the sdist, and the unpacked sdist."""

    bin: Path
    python: Path
    source: Path


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Continua is installed from the sdist; the packages it needs are those of this environment."""
    (sdist,) = built.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    binaries = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    (packages,) = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    ).splitlines()
    ours = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    Path(packages, "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--quiet")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, sdist, cwd=folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return Installation(binaries, python, folder / sdist.name.removesuffix(".tar.gz"))


def test_the_sdist_holds_every_file_of_the_repository(built):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone: the files of the repository are not known")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    files = {name for name in listed if (ROOT / name).is_file()}
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames()}
    assert files - packed == set()
    assert packed - files == {"PKG-INFO"}


def test_the_wheel_holds_the_package_alone(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"continua"}
    folder = ROOT / "src"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} == {
        n for n in names if ".dist-info/" not in n
    }
    assert {"continua/py.typed", "continua/studio/page/index.html"} <= names


def test_a_scene_runs_from_the_sdist(installed, tmp_path):
    program = "import continua; print(continua.__file__)"
    (file,) = run(installed.python, "-c", program, cwd=tmp_path).splitlines()
    assert Path(file).is_relative_to(installed.bin.parent)
    run(installed.bin / "continua", "run", "beam", "--seconds", "0.1", "-o", "out", cwd=tmp_path)
    assert (tmp_path / "out" / "picture.png").stat().st_size > 1000


def test_the_studio_page_is_served_from_the_sdist(installed, tmp_path):
    command = [str(installed.bin / "continua"), "studio", "beam", "--port", "0", "--no-open"]
    server = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        address = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)))[0]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        page = browser.open(address, timeout=60).read().decode()
        assert "<title>" in page
        scripts = re.findall(r'src="\.?/?([^"]+\.js)"', page)
        assert scripts
        for script in scripts:
            assert len(browser.open(re.sub(r"/[^/]*$", f"/{script}", address), timeout=60).read()) > 10_000
    finally:
        server.kill()
        server.communicate()


def test_tests_run_from_the_sdist(installed):
    """Those of the documentation, of the recipes, of the option tables and of the benchmarks' own parts."""
    files = (
        "tests/test_docs.py",
        "tests/test_contributing.py::test_the_files_of_a_recipe_exist",
        "tests/scene/test_option_tables.py",
        "tests/benchmarks/test_run.py",
    )
    printed = run(installed.python, "-m", "pytest", "-n", "0", *files, cwd=installed.source)
    assert re.search(r"^\d+ passed", printed, re.MULTILINE), printed
    module = "import validation.throws, benchmarks.registry, continua; print(continua.__file__)"
    (file,) = run(installed.python, "-c", module, cwd=installed.source).splitlines()
    assert Path(file).is_relative_to(installed.bin.parent)
