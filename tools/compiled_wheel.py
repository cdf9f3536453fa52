"""Build a wheel with compiled kernels, so that nothing compiles on the machines it is installed on.

    python tools/compiled_wheel.py --cpu x86-64-v3 -o dist

`python -m build` makes a wheel for every machine, without kernels. This command adds the kernels of the shipped scenes,
compiled for a family of processors, and tags the wheel for this system and this version of Python. The kernels are used
with the version of Numba that compiled them; with another one they compile as usual. Run it on Linux for x86-64, and
with `--cpu arm64` on an arm64 machine.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from wheel.wheelfile import WheelFile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))


def build(target: Path, cpu: str, scenes: list[str], *, isolated: bool = True) -> Path:
    """Build the wheel and return its path.

    Args:
        target: Folder for the wheel.
        cpu: Family of processors.
        scenes: Scenes whose kernels are compiled; all shipped ones if empty.
        isolated: Whether the build gets an environment of its own.
    """
    from continua.cli.warmup import compile_for, kernels_of

    with TemporaryDirectory() as name:
        work = Path(name)
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(work), str(ROOT)]
        subprocess.run(command + ([] if isolated else ["--no-isolation"]), check=True)
        (pure,) = work.glob("*.whl")
        content = work / "content"
        with zipfile.ZipFile(pure) as archive:
            archive.extractall(content)
        compile_for(cpu, content / "continua" / "compiled_kernels", kernels_of(scenes))
        tag = f"cp{sys.version_info[0]}{sys.version_info[1]}-none-{_platform()}"
        (about,) = content.glob("*.dist-info/WHEEL")
        lines = [line for line in about.read_text().splitlines() if not line.startswith(("Tag:", "Root-Is"))]
        about.write_text("\n".join([*lines, "Root-Is-Purelib: false", f"Tag: {tag}", ""]))
        (content / about.parent.name / "RECORD").unlink()
        made = work / f"{'-'.join(pure.stem.split('-')[:2])}-{tag}.whl"
        with WheelFile(made, "w") as wheel:
            wheel.write_files(content)
        target.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(made, target / made.name))


def _platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cpu", default="x86-64-v3", help="x86-64-v2, x86-64-v3 or arm64")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), help="folder for the wheel")
    parser.add_argument("--scenes", nargs="*", default=[], help="scenes whose kernels are compiled [all]")
    parser.add_argument("--no-isolation", action="store_true", help="build with the installed packages")
    given = parser.parse_args()
    print(build(given.output, given.cpu, given.scenes, isolated=not given.no_isolation))


if __name__ == "__main__":
    main()
