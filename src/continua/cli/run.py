"""`continua run`: simulate a scene into a folder; it can be stopped or killed at any time and resumed."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from continua.cli.formatting import print_json, table, time_text
from continua.cli.progress import Progress
from continua.cli.results import CHECKPOINT, PICTURE, REPORT, SCENE, Results
from continua.cli.timing import LapTimer
from continua.errors import DivergedError, OutputError, StoppedError
from continua.frames import Frame, RunInfo, Sink, StepReport, WarningCount
from continua.numerics import compile_stats, get_threads, set_threads
from continua.numerics.precompile import Precompiler
from continua.numerics.progress import progress_listener
from continua.output import make_sink
from continua.output.deferred_sink import DeferredSink
from continua.render.composition import check_color
from continua.scene import Scene
from continua.scene.kernel_plan import missing_kernels
from continua.scene.run_info import run_info
from continua.step_warnings import WarningTally
from continua.validation import pluralize
from continua.world import World

__all__ = ["run_scene"]

MAX_WARNINGS = 100
_MOST_KINDS = 5  # of warnings, in the summary


def run_scene(
    scene: Scene,
    given: str,
    *,
    folder: Path | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    quiet: bool = False,
    timers: bool = False,
    settings: Sequence[str] = (),
    as_json: bool = False,
) -> int:
    """Simulate `scene` and return the exit code: 0 when done, 130 when stopped by the user.

    Args:
        scene: What to simulate.
        given: The scene as named by the user, for the hint on how to resume.
        folder: Where the results go; by default the scene's own choice, or out/NAME.
        resume: Go on with the run in the folder.
        force: Start again in a folder that has results.
        threads: Threads to use.
        quiet: Say nothing but errors.
        timers: Say where the time of the steps went.
        settings: The options given by `--set`, for the hint on how to resume.
        as_json: Print the report instead of a summary.
    """
    if threads is not None:
        set_threads(threads)
    place = folder or Path(scene.output.folder or Path("out") / scene.name)
    progress = Progress(scene.seconds, quiet=quiet)
    with Results(place, scene) as results:
        saved = results.claim(resume=resume, force=force)
        if saved is not None and results.is_finished(saved):
            if as_json:
                print_json(results.read_report())
            elif not quiet:
                print(_finished(results, saved.frames_done))
            return 0
        with progress.shown(), _SignalHandler() as stopper:
            run = _Run(
                scene, [given, *(f"--set={setting}" for setting in settings)], results, progress, stopper
            )
            code = run.go(saved)
    if as_json:
        print_json(results.read_report())
        return code
    if not quiet:
        print("\n".join(run.summary))
    if timers and run.tally.steps:
        _print_timers(run.tally, run.clock["output"])
    return code


def _finished(results: Results, frames: int) -> str:
    text = f"{results.folder}: this run is finished ({frames} frames); see {results.folder / PICTURE}"
    if missing := results.missing_formats():
        text += f"\n  it did not write {', '.join(missing)}: run again with --force to have those files"
    return text


def _print_timers(tally: _RunStats, writing: float) -> None:
    """Print the time per stage: milliseconds per step, and bars."""
    shares = {**tally.stages, "output": writing}
    total = sum(shares.values()) or 1.0
    rows = [
        (name, f"{1e3 * s / tally.steps:.3f} ms", f"{100 * s / total:.1f} %", "█" * round(30 * s / total))
        for name, s in sorted(shares.items(), key=lambda item: -item[1])
    ]
    table(("stage", "a step", "share", ""), rows)


@dataclass
class _RunStats:
    """Statistics of the steps of a run."""

    steps: int = 0
    iterations: int = 0
    most_iterations: int = 0
    unconverged: int = 0
    most_inverted: int = 0
    warnings: list[dict[str, Any]] = field(default_factory=list)
    warning_count: int = 0
    kinds: WarningTally = field(default_factory=WarningTally)
    stages: dict[str, float] = field(default_factory=dict)

    def add(self, reports: tuple[StepReport, ...]) -> None:
        """Count a step."""
        self.steps += 1
        self.kinds.add(reports)
        for report in reports:
            self.iterations += report.iterations
            self.most_iterations = max(self.most_iterations, report.iterations)
            self.unconverged += not report.converged
            self.most_inverted = max(self.most_inverted, report.inverted)
            for text in report.warnings:
                self.warning_count += 1
                if len(self.warnings) < MAX_WARNINGS:
                    self.warnings.append({"step": report.step, "body": report.body, "text": text})


class _Run:
    def __init__(
        self,
        scene: Scene,
        words: Sequence[str],
        results: Results,
        progress: Progress,
        stopper: _SignalHandler,
    ) -> None:
        self.scene = scene
        self.words = words
        self.results = results
        self.progress = progress
        self.stopper = stopper
        self.tally = _RunStats()
        self.timer = LapTimer()
        self.clock = dict.fromkeys(("build", "steps", "output", "drawing", "compiling"), 0.0)
        self.compiled_before = compile_stats()[0]
        self.kernels_compiled = 0  # in other processes
        self.simulated = False
        self.summary: list[str] = []

    def _lap(self, what: str) -> None:
        """Add the time since the last call to one of the clocks; compiling has its own."""
        worked, compiling = self.timer.lap()
        self.clock[what] += worked
        self.clock["compiling"] += compiling

    def go(self, saved: Any) -> int:
        try:
            self._compile_kernels()
            self.progress.phase("building the scene")
            with progress_listener(self._hear):
                world = self.scene.build()
        except StoppedError as stopped:
            self.summary = [str(stopped)]
            return 130
        for body in world.bodies:
            for note in body.notes:
                self.progress.say(f"note: {body.name}: {note}")
        with self.scene.at("output", "picture", "color"):
            check_color(world.frame(), self._info().view.get("color"))  # type: ignore[arg-type]
        sinks = [make_sink(kind, self.results.output) for kind in dict.fromkeys(self.scene.output.formats)]
        start = 0
        if saved is not None:
            self.results.check_geometry(saved, world)
            world.restore(saved.state)
            start = saved.frames_done
            self.progress.say(f"continuing at {world.time:g} s (frame {start})")
        self.results.open(world, fresh=saved is None)
        for sink in sinks:
            sink.open(self._info(), start)
        self._lap("build")
        try:
            frame = self._simulate(world, sinks)
            if self.stopper.signal is not None:
                return self._stopped(world, sinks)
            self._finish(world, sinks, frame or world.frame())
        except StoppedError:
            self.summary = ["stopped while files were drawn; go on with", f"  {self._resume_command()}"]
            return 128 + int(self.stopper.signal or signal.SIGINT)
        except OutputError as error:
            raise OutputError(f"{error}; {self._how_to_resume()}", errno=error.errno) from error
        return 0

    def _compile_kernels(self) -> None:
        """Compile what the scene will call and the cache does not have, in several processes.

        A file that is missing is found before: nobody waits for kernels to be told of it.
        """
        self.scene.check_files()
        if not (missing := missing_kernels(self.scene)):
            return
        count = pluralize(len(missing), "kernel")
        self.progress.say(f"compiling {count} of this scene, once: they are kept for later runs")
        compiler = Precompiler(missing)
        compiler.wait(self._compiled)
        self.clock["compiling"] += self.timer.lap()[0]
        self.kernels_compiled += compiler.done

    def _compiled(self, done: int, total: int, seconds_left: float) -> None:
        text = f"compiling kernels   {done} of {total}"
        self.progress.part(text, done, total, seconds_left)
        if self.stopper.signal is not None:
            raise StoppedError("stopped while kernels were compiled")

    def _resume_command(self) -> str:
        return shlex.join(["continua", "run", *self.words, "-o", str(self.results.folder), "--resume"])

    def _how_to_resume(self) -> str:
        return (
            f"the last checkpoint is complete: free some space, then continue with  {self._resume_command()}"
        )

    def _hear(self, _part: float | None, text: str) -> None:
        """Show the progress of a long build, and stop it when the user stops the run."""
        self.progress.phase(text)
        if self.stopper.signal is not None:
            raise StoppedError("stopped while the scene was built")

    def _simulate(self, world: World, sinks: list[Sink]) -> Frame | None:
        """Step to the end or until the user stops; return the last frame."""
        every = self.scene.output.checkpoint_every
        last = None
        try:
            with self.progress.warnings_said():
                for frame in world.run(self.scene.seconds, self.scene.fps, progress=self._stepped):
                    self._lap("steps")
                    if last is None:
                        self._expect_drawing(world, sinks, frame)
                    last = frame
                    for sink in sinks:
                        sink.write(frame)
                    if (frame.index + 1) % every == 0:
                        self.results.checkpoint(world, frame.index + 1)
                    self._lap("output")
                    if self.stopper.signal is not None:
                        break
        except DivergedError:
            for sink in sinks:
                sink.close()
            self._report(world, finished=False)
            raise
        self.results.checkpoint(world, world.frame_index + 1)
        self._lap("output")
        return last

    def _stepped(self, world: World, reports: tuple[StepReport, ...]) -> None:
        for stage, seconds in world.timers.items():
            self.tally.stages[stage] = self.tally.stages.get(stage, 0.0) + seconds
        self.tally.add(reports)
        self.progress.step(world.time, self.tally.steps, self.tally.iterations)

    def _expect_drawing(self, world: World, sinks: list[Sink], frame: Frame) -> None:
        """Draw one frame for each film, so that the time left includes that of the films."""
        frames = world.frame_plan(self.scene.seconds, self.scene.fps)[0] + 1
        timer = LapTimer()
        for sink in sinks:
            if isinstance(sink, DeferredSink) and sink.try_out(frame):
                self.progress.expect(sink.action, frames * timer.lap()[0])
        self._lap("drawing")

    def _info(self) -> RunInfo:
        return run_info(self.scene, self._drawn)

    def _drawn(self, what: str, done: int, total: int) -> None:
        """Show how much of a film is drawn, and stop it when the user stops the run."""
        self.progress.stage(what, done, total)
        if self.simulated and self.stopper.signal is not None:
            raise StoppedError("stopped while files were drawn")

    def _stopped(self, world: World, sinks: list[Sink]) -> int:
        for sink in sinks:
            sink.close()
        self._report(world, finished=False)
        self.summary = [
            f"stopped at {world.time:g} of {self.scene.seconds:g} s; go on with",
            f"  {self._resume_command()}",
        ]
        return 128 + int(self.stopper.signal or 0)

    def _finish(self, world: World, sinks: list[Sink], frame: Frame) -> None:
        from continua.render import picture

        self.simulated = True
        files: list[Path] = []
        for sink in sinks:
            self.progress.phase("finishing files")
            files.extend(sink.close()[:1])
        self.progress.phase("drawing the picture")
        picture(frame, self.results.folder / PICTURE, **self._info().view)  # type: ignore[arg-type]
        self._lap("drawing")
        self._report(world, finished=True, files=files)
        self.summary = self._what_was_written(world, files)

    def _report(self, world: World, *, finished: bool, files: list[Path] | None = None) -> None:
        tally = self.tally
        self.results.report(
            {
                "scene": self.scene.name,
                "finished": finished,
                "simulated_seconds": world.time,
                "seconds": self.scene.seconds,
                "fps": self.scene.fps,
                "formats": list(dict.fromkeys(self.scene.output.formats)),
                "frames": world.frame_index + 1,
                "steps": world.step_index,
                "files": [str(path.relative_to(self.results.folder)) for path in files or []],
                "this_run": {
                    "steps": tally.steps,
                    "solver_iterations": tally.iterations,
                    "most_iterations_in_a_step": tally.most_iterations,
                    "steps_not_converged": tally.unconverged,
                    "most_inverted_elements": tally.most_inverted,
                    "seconds_building": round(self.clock["build"], 3),
                    "seconds_stepping": round(self.clock["steps"], 3),
                    "seconds_writing": round(self.clock["output"], 3),
                    "seconds_drawing": round(self.clock["drawing"], 3),
                    "seconds_of_stages": {stage: round(s, 4) for stage, s in tally.stages.items()},
                    "seconds_compiling": round(self.clock["compiling"], 3),
                    "kernels_compiled": self.kernels_compiled + compile_stats()[0] - self.compiled_before,
                    "threads": get_threads(),
                    "warning_count": tally.warning_count,
                    "warnings": tally.warnings,
                    "kinds_of_warnings": [asdict(kind) for kind in tally.kinds.counts],
                },
                "bodies": {
                    body.name: {**body.summary(), "nodes": body.node_count, "mass": body.mass_total}
                    for body in world.bodies
                },
            }
        )

    def _what_was_written(self, world: World, files: list[Path]) -> list[str]:
        place, tally = self.results.folder, self.tally
        seconds, drawing = self.clock["steps"], self.clock["drawing"]
        spent = []
        if tally.steps and seconds > 0.0:
            spent += [f"{tally.steps / seconds:.0f} steps/s", time_text(seconds)]
        if drawing >= 1.0:
            spent += [f"{time_text(drawing)} of drawing"]
        lines = [
            f"done: {world.time:g} s in {world.step_index} steps, {world.frame_index + 1} frames"
            + (f" ({', '.join(spent)})" if spent else ""),
            f"  {place / PICTURE}  the last frame",
            *(f"  {path}  {_OPEN_WITH[path.suffix]}" for path in files if path.suffix in _OPEN_WITH),
            f"  {place / CHECKPOINT}  to continue: add --resume and a longer --seconds",
            f"  {place / SCENE}, {place / REPORT}  the scene, and how the run went",
            f"play with it:  {shlex.join(['continua', 'studio', *self.words])}",
        ]
        if tally.warning_count:
            lines[1:1] = _warning_lines(tally.kinds.counts, place / REPORT)
        return lines


def _warning_lines(kinds: Sequence[WarningCount], report: Path) -> list[str]:
    """Return what the summary says of the warnings of a run."""
    count = "1 kind" if len(kinds) == 1 else f"{len(kinds)} kinds"
    most = sorted(kinds, key=lambda kind: -kind.count)[:_MOST_KINDS]
    lines = [f"  {count} of warnings, also in {report}:"]
    lines += [f"    {kind.body}: {kind.text} ({_in_steps(kind)})" for kind in most]
    if len(kinds) > _MOST_KINDS:
        lines.append(f"    and {len(kinds) - _MOST_KINDS} more")
    return lines


def _in_steps(kind: WarningCount) -> str:
    return f"step {kind.step}" if kind.count == 1 else f"{kind.count} steps, the last was step {kind.step}"


_OPEN_WITH = {
    ".pvd": "frames: open in ParaView",
    ".usd": "animation: open in usdview, Blender or Houdini",
    ".usda": "animation: open in usdview, Blender or Houdini",
    ".usdc": "animation: open in usdview, Blender or Houdini",
    ".glb": "animation: open in a browser viewer or Blender",
    ".ply": "meshes, one a frame",
    ".obj": "meshes, one a frame",
    ".png": "pictures, one a frame",
    ".mp4": "film",
    ".webp": "film, for pages",
    ".gif": "film, for pages",
    ".html": "replay: open in a browser",
}


class _SignalHandler:
    """Stops a run between two frames: the first Ctrl-C requests the stop, the second is immediate."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _SignalHandler:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
