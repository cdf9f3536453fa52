"""The commands and their options. Each imports its modules when it runs, so that `--help` is fast."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from continua.errors import ContinuaError, DivergedError, InputError, OutputError, shortened

__all__ = ["app", "main"]

EXIT_OUTPUT = 1
EXIT_INPUT = 2
EXIT_DIVERGED = 3
EXIT_STOPPED = 130


class _Group(TyperGroup):
    """Prints errors as one sentence on stderr, without a traceback unless CONTINUA_DEBUG is set."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ContinuaError as error:
            if os.environ.get("CONTINUA_DEBUG"):
                raise
            print(f"continua: {error}", file=sys.stderr)
            raise typer.Exit(_exit_code(error)) from None
        except MemoryError:
            print("continua: there is not enough memory; use a coarser mesh", file=sys.stderr)
            raise typer.Exit(EXIT_INPUT) from None
        except KeyboardInterrupt:
            print("continua: stopped", file=sys.stderr)
            raise typer.Exit(EXIT_STOPPED) from None
        except BrokenPipeError:  # the reader of the output has closed it, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            if os.environ.get("CONTINUA_DEBUG"):
                raise
            place = f"{shortened(str(error.filename), 400)}: " if error.filename else ""
            print(f"continua: {place}{error.strerror or error}", file=sys.stderr)
            raise typer.Exit(EXIT_OUTPUT) from None


def _exit_code(error: ContinuaError) -> int:
    if isinstance(error, DivergedError):
        return EXIT_DIVERGED
    return EXIT_OUTPUT if isinstance(error, OutputError) else EXIT_INPUT


app = typer.Typer(
    name="continua",
    cls=_Group,
    help="The physics of continua, in real time, on an ordinary CPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _tell
    app()


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one sentence, without the line of code that raised it."""
    print(f"continua: {message}", file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"continua {version('continua')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def _complete_scene(incomplete: str) -> list[str]:
    """Return the shipped scenes and the scene files that begin like this."""
    folder = Path(__file__).parents[1] / "scene" / "library"  # without the scene models, which load slowly
    names = [path.stem for path in sorted(folder.glob("*.yaml"))]
    if "/" not in incomplete:
        names += sorted(str(path) for path in Path().glob("*.y*ml"))
    return [name for name in names if name.startswith(incomplete)]


def _complete_formats(incomplete: str) -> list[str]:
    """Return the formats that can follow in a list such as `vtu,ht`."""
    from continua.scene.formats import format_names

    given, _, last = incomplete.rpartition(",")
    before = f"{given}," if given else ""
    return [
        before + name for name in format_names() if name.startswith(last) and name not in given.split(",")
    ]


SceneArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENE", help="A scene file, or the name of a shipped scene.", autocompletion=_complete_scene
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Another value of an option of the scene, such as bodies.0.material.young=2e5; may be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; results do not depend on it.")]


@app.command()
def run(
    scene: SceneArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the results [default: out/NAME].")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time [s], instead of the scene's.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second, instead of the scene's.")] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Files to write, such as vtu,html: vtu vti usd glb ply obj png mp4 webp gif html.",
            autocompletion=_complete_formats,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Start again in a folder that already has results.")
    ] = False,
    threads: Threads = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(min=1, help="Frames between two checkpoints, instead of the scene's.")
    ] = None,
    inside: Annotated[
        str | None,
        typer.Option(help="Interior of soft bodies in pictures and films: surfaces or volume."),
    ] = None,
    timers: Annotated[bool, typer.Option("--timers", help="Print the time per stage of the steps.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    settings: Settings = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON instead of text.")
    ] = False,
) -> None:
    """Simulate a scene and write frames, a picture and a checkpoint."""
    from continua.cli.scenes import load

    loaded = load(scene, settings)
    wanted = None if formats is None else [part.strip() for part in formats.split(",") if part.strip()]
    outputs: dict[str, Any] = {"formats": wanted, "checkpoint_every": checkpoint_every}
    if inside is not None:
        shown = loaded.output.picture.model_dump(exclude_unset=True)
        outputs["picture"] = {**shown, "inside": inside}
    changed = loaded.with_options(seconds=seconds, fps=fps, output=outputs)
    from continua.cli.run import run_scene

    code = run_scene(
        changed,
        scene,
        folder=output,
        resume=resume,
        force=force,
        threads=threads,
        quiet=quiet,
        timers=timers,
        settings=settings or (),
        as_json=as_json,
    )
    if code:
        raise typer.Exit(code)


@app.command()
def scenes(as_json: Json = False) -> None:
    """List the shipped scenes, with their kinds and costs."""
    from continua.cli.scenes import list_scenes

    list_scenes(as_json=as_json)


@app.command()
def show(scene: SceneArgument) -> None:
    """Print the YAML of a shipped scene, to start from."""
    from continua.cli.scenes import show_scene

    show_scene(scene)


@app.command()
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENE...",
            help="Scene files, or names of shipped scenes.",
            autocompletion=_complete_scene,
        ),
    ],
    build: Annotated[bool, typer.Option("--build", help="Also read meshes and build the bodies.")] = False,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Check that scenes are valid; the exit code is 2 if one is not."""
    from continua.cli.scenes import check_scenes

    if not check_scenes(files, settings, build=build, as_json=as_json):
        raise typer.Exit(EXIT_INPUT)


@app.command()
def info(
    file: Annotated[
        str,
        typer.Argument(
            help="A mesh, a scene (or its name), or a checkpoint.", autocompletion=_complete_scene
        ),
    ],
    settings: Settings = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Build a scene and run a few steps to estimate how long a run takes."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Describe a mesh, a scene or a checkpoint."""
    from continua.cli.info import describe

    describe(file, settings or (), probe=probe, as_json=as_json)


@app.command()
def schema() -> None:
    """Print the JSON schema of scene files."""
    import json

    from continua.scene import Scene

    print(json.dumps(Scene.model_json_schema(), indent=2, ensure_ascii=False))


@app.command()
def mesh(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A closed surface, or any mesh.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    size: Annotated[float | None, typer.Option(help="Target edge length [m].")] = None,
    max_volume: Annotated[float | None, typer.Option(help="Maximum volume of a tetrahedron [m³].")] = None,
    min_dihedral: Annotated[
        float | None, typer.Option(help="Target minimum dihedral angle [degrees].")
    ] = None,
    max_radius_edge: Annotated[
        float | None, typer.Option(help="Target maximum ratio of circumradius to shortest edge.")
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Accept a surface that is open, not a manifold or goes through itself."
        ),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Time after which the mesher is stopped [s].")
    ] = None,
) -> None:
    """Fill a surface with tetrahedra, or convert a mesh, and print its quality."""
    from continua.cli.info import make_mesh

    make_mesh(
        source,
        target,
        size=size,
        max_volume=max_volume,
        min_dihedral=min_dihedral,
        max_radius_edge=max_radius_edge,
        repair=repair or None,
        time_limit=time_limit,
    )


@app.command()
def sdf(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A closed surface.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, such as bunny.sdf.")],
    tolerance: Annotated[
        float, typer.Option(help="Squared error over the box, in units of half the longest side.")
    ] = 1e-6,
    near: Annotated[float, typer.Option(help="Decay of the error weight away from the surface.")] = 0.0,
    continuity: Annotated[
        float, typer.Option(help="Weight of the fit against jumps between cells, such as 3; 0 leaves them.")
    ] = 0.0,
    winding: Annotated[
        bool, typer.Option("--winding", help="Signs by winding numbers: for defective surfaces.")
    ] = False,
    close_holes: Annotated[
        bool, typer.Option("--close-holes", help="Close the holes of the surface.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Picture of slices and cells [default: OUT with .png].")
    ] = None,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Fit a distance field to a surface, and draw slices and cells."""
    if threads is not None:
        from continua.numerics import set_threads

        set_threads(threads)
    from continua.cli.sdf import make_field

    make_field(
        source,
        target,
        tolerance=tolerance,
        near=near,
        continuity=continuity,
        winding=winding,
        close_holes=close_holes,
        picture=picture,
        quiet=quiet,
    )


@app.command()
def studio(
    scene: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENE]",
            help="A scene file or name; an empty scene without.",
            autocompletion=_complete_scene,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8787,
    token: Annotated[
        str | None, typer.Option(help="Secret in the page's address; a new one by default.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    screenshot: Annotated[
        Path | None, typer.Option(help="Write a picture of the page (PNG) instead of opening it.")
    ] = None,
    at: Annotated[float, typer.Option(min=0.0, help="Simulated time of the picture [s].")] = 0.0,
    threads: Threads = None,
    settings: Settings = None,
) -> None:
    """Open a scene in the browser: edit it, run it, pull it with the mouse."""
    from continua.cli.scenes import load

    if scene is None and settings:
        raise InputError("changes the options of a scene; name one", where="--set")
    loaded = None if scene is None else load(scene, settings)
    if threads is not None:
        from continua.numerics import set_threads

        set_threads(threads)
    if screenshot is not None:
        from continua.studio import check_extra

        check_extra()
        from continua.studio.screenshot import screenshot as draw

        if loaded is None:
            raise InputError("a screenshot needs a scene; name one")
        by = draw(loaded, screenshot, at=at)
        print(
            f"{screenshot}: drawn by "
            + ("the page in a browser" if by == "browser" else "the renderer, as there is no browser")
        )
        return
    from continua.studio import serve

    serve(loaded, host=host, port=port, token=token, open_browser=not no_open)


@app.command()
def warmup(
    scenes: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENE]...", help="Scenes; all shipped ones without.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that compile [default: one per processor].")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write kernels to a ZIP file, for other machines.")
    ] = None,
    cpu: Annotated[
        str, typer.Option(help="Processor family of the export: x86-64-v2, x86-64-v3 or arm64.")
    ] = "x86-64-v3",
    from_file: Annotated[
        Path | None,
        typer.Option("--import", help="Read kernels from a ZIP file; it can run code, so trust its source."),
    ] = None,
) -> None:
    """Compile all kernels now, so that later runs start immediately."""
    from continua.cli.warmup import export_kernels, import_kernels, warm_up

    if export is not None and from_file is not None:
        raise InputError("choose either --export or --import")
    if from_file is not None:
        import_kernels(from_file)
    elif export is not None:
        export_kernels(export, cpu, scenes or (), jobs)
    else:
        warm_up(scenes or (), jobs)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check the installation on this machine."""
    from continua.cli.doctor import examine

    if not examine(as_json=as_json):
        raise typer.Exit(1)
