"""The simulation behind the page: one thread that owns the world, paced to real time.

Only this thread touches the world. Commands reach it through a queue; it publishes immutable snapshots into a slot
that holds the latest one only, so a slow reader skips snapshots and never delays the simulation.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from continua.errors import ContinuaError, DivergedError, InputError
from continua.numerics.kernel import on_compile
from continua.studio import protocol as commands
from continua.studio.controls.control_panel import ControlPanel
from continua.studio.editor.questions import QuestionError
from continua.studio.export.manager import ExportManager
from continua.studio.interaction.drag_spring import face_of_triangle
from continua.studio.interaction.interaction import Interaction
from continua.studio.session.busy_state import BusyState
from continua.studio.session.clock import Clock
from continua.studio.session.command_queue import CommandQueue
from continua.studio.session.publisher import Publisher
from continua.studio.session.snapshot import Listener, SessionScene, Snapshot
from continua.studio.session.world_gc import WorldCollector

__all__ = ["Session"]

_RECORD_FPS = 30.0  # of worlds made in Python
_COMPILING = "compiling kernels (only the first time)"
_NEEDS_WORLD = (
    commands.Step
    | commands.SetParameter
    | commands.Settle
    | commands.PressFace
    | commands.Record
    | commands.PullBegin
    | commands.ProbeBegin
    | commands.PinNode
    | commands.AddObstacle
    | commands.MoveObstacle
    | commands.RemoveObstacle
)


class Session:
    """Runs a world in its own thread and notifies listeners of changes.

    Args:
        name: Name of the initial scene.
        load: Builds the scene with a given name; called in the simulation's thread except for the first.
        preview: A picture of the first scene, whose world is then built in the simulation's thread; by default the
            world is built now.

    Attributes:
        editor: The editor of the scene; None for a world made in Python.
        panel: The control panel of the world.
        interaction: Interaction with the world by mouse.
        exports: Exports and recordings.
        publisher: Publishes snapshots and state.
    """

    def __init__(
        self, name: str, load: Callable[[str], SessionScene], preview: SessionScene | None = None
    ) -> None:
        scene = load(name) if preview is None else preview
        self._world = scene.world
        self._load = load
        self._scene_name = name
        self._commands = CommandQueue()
        self._clock = Clock()
        self._playing = scene.play and not scene.is_preview
        self._ready, self._shown = threading.Event(), threading.Event()
        self._fast = self._time_limit = False
        self._error: str | None = None
        self._busy = BusyState(self._publish_state)
        self._settle_report: str | None = None
        self._world_collector = WorldCollector()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="continua-simulation", daemon=True)
        self.editor = scene.editor
        self.panel = ControlPanel(scene.world)
        self.interaction = Interaction()
        self.publisher = Publisher(scene)
        self.exports = ExportManager(self.publisher.listeners.notify_change)
        self.publisher.publish(self._world, self.panel, self.interaction, self._clock)
        self._publish_state()

    # Called by other threads.

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self.publisher.snapshot

    @property
    def state(self) -> dict[str, Any]:
        """State of the session, ready for JSON."""
        return self.publisher.state

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """Wait until the first world is built, or could not be built; return whether it was in time [s]."""
        return self._ready.wait(timeout)

    def stop(self) -> None:
        """Stop the thread after the current step."""
        self._stop.set()
        self._shown.set()
        self._busy.cancel()
        if self._thread.is_alive():
            self._commands.wake()
            self._thread.join(timeout=10.0)
        self.exports.close()
        if self.editor is not None:
            self.editor.autosave(force=True)

    def note_shown(self) -> None:
        """Note that a page has got a picture."""
        self._shown.set()

    def add_listener(self, client: int, listener: Listener) -> None:
        """Notify a client from now on. The simulation runs only while there are listeners."""
        self.publisher.listeners.add(client, listener)
        self._commands.wake()

    def remove_listener(self, client: int) -> None:
        """Stop notifying a client and end its interaction."""
        self.publisher.listeners.remove(client)
        self._commands.wake()

    def submit(self, client: int, command: commands.Command) -> None:
        """Queue a command; raise `InputError` if the queue is full."""
        if isinstance(command, commands.Cancel):  # it must not wait for the work that it cancels
            self._busy.cancel()
            return
        if isinstance(command, commands.ExportCancel) and self.exports.recorder is None:
            self.exports.cancel()
            self._busy.cancel()
            return
        self._commands.put(client, command)

    def run_to(self, seconds: float) -> None:
        """Simulate up to a time [s] and pause there; call it before the thread has started."""
        self._playing = False
        while self._world.time < seconds - 0.5 * self._world.dt and self._error is None:
            self._step()
        self._publish(force=True)
        self._publish_state()

    # Called by the simulation's thread only.

    def _run(self) -> None:
        has_listeners = self.publisher.listeners.has_listeners
        with on_compile(self._on_compile):
            self._build_first()
            self._clock.restart(self._world.time)
            while not self._stop.is_set():
                running = self._playing and has_listeners.is_set()
                self._run_commands(self._seconds_until_due() if running else 0.5)
                self._sync_document()
                running = self._playing and has_listeners.is_set() and not self._stop.is_set()
                if running and self._seconds_until_due() <= 0.0:
                    self._step()
                    self._stop_at_time_limit()
                if not running:
                    self._clock.restart(self._world.time)
                self._publish(force=not running)
                self._clear_busy()
                if self._world_collector.collect():
                    self._clock.restart(self._world.time)

    @property
    def _is_preview(self) -> bool:
        """Whether the world is only a picture of a scene that is not built yet."""
        return self.snapshot.scene.is_preview

    def _build_first(self) -> None:
        """Build the world of the scene that is shown as a preview, and run it."""
        scene = self.snapshot.scene
        self._shown.wait(scene.page_wait)
        if scene.is_preview and not self._stop.is_set():
            self._build()
            self._playing = scene.play and not self._is_preview
            if self.editor is not None and self.editor.build_error and not self._stop.is_set():
                print(f"continua studio: {self.editor.build_error}", flush=True)
            self._publish_state()
            self._commands.drop_stale()
        self._ready.set()

    def _seconds_until_due(self) -> float:
        """Return the seconds until the next step is due."""
        wait = self._clock.wait(self._world.time + self._world.dt)
        return 0.0 if self._fast else wait

    def _stop_at_time_limit(self) -> None:
        """Pause at the duration of the scene if the time limit is on."""
        if self._time_limit and self._reached_duration():
            self._playing = False
            self._publish_state()

    def _reached_duration(self) -> bool:
        editor = self.editor
        return editor is not None and self._world.time > editor.seconds - 0.5 * self._world.dt

    def _run_commands(self, timeout: float) -> None:
        """Execute the waiting commands; if there is none, wait for the first."""
        for client, command in self._commands.take(timeout):
            if self._stop.is_set():
                break
            self._run_command(client, command)
        for client in self.publisher.listeners.take_removed():
            self.interaction.release(client)

    def _run_command(self, client: int, command: commands.Command) -> None:
        try:
            self._dispatch(client, command)
        except QuestionError as error:
            self.publisher.listeners.notify_question(client, error.question)
        except ContinuaError as error:
            self._report_failure(client, str(error), command)
        except Exception as error:  # an error in one command must not end the session
            traceback.print_exc()
            self._report_failure(client, f"the command failed: {error}", command)

    def _dispatch(self, client: int, command: commands.Command) -> None:
        world = self._world
        if self._is_preview and isinstance(command, _NEEDS_WORLD):
            raise InputError("the scene is not built yet; press Play to build it")
        match command:
            case commands.Play():
                self._play()
            case commands.Pause():
                self._playing = False
            case commands.Step():
                self._playing = False
                if self._error is None:
                    self._step()
            case commands.Reset():
                self._reset()
            case commands.LoadScene(name=name):
                self._open(name)
            case commands.SetParameter(key=key, value=value):
                self.panel.set_value(key, value)
                self.publisher.dirty = True
                self._record_parameter(key, value)
                self._clear_messages()
            case commands.Settle():
                self._settle()
            case commands.SetTimeLimit(on=on):
                self._time_limit = on
            case commands.SetFast(on=on):
                self._fast = on
                self._clock.restart(world.time)
            case commands.Build(large=large):
                if large and self.editor is not None:
                    self.editor.accept_cost()
                self._build()
            case commands.NewScene():
                self._open("")
            case commands.EditScene() | commands.AddShape() | commands.Undo() | commands.Redo():
                self._edit(command)
            case commands.Recover() | commands.ReplaceScene():
                self._edit(command)
            case commands.StartFrom():
                self._start_from(command)
            case commands.Save():
                self._save(command)
            case commands.PressFace():
                self._press_face(command)
            case commands.Export(format=format):
                if self.editor is None:
                    raise InputError("this world was made in Python; record it instead")
                self.exports.start(self.editor.document, format)
            case commands.Record(on=on, format=format):
                self._record(on, format)
            case commands.ExportCancel():
                self.exports.discard_recording()
            case _:
                self._interact(client, command)
                return
        self._publish_state()

    def _interact(self, client: int, command: commands.Command) -> None:
        """Execute a command of the mouse."""
        pinned = len(self.interaction.pinned)
        self.publisher.dirty |= self.interaction.handle(client, command, self._world, self.snapshot.frame)
        sketch = commands.AddObstacle | commands.MoveObstacle | commands.RemoveObstacle
        if self.editor is not None and isinstance(command, sketch):
            self.editor.record_sketch(command, self._world, self.panel)
            self._publish_state()
        if len(self.interaction.pinned) != pinned:
            self.panel.refresh()
            self._publish_state()

    def _play(self) -> None:
        editor = self.editor
        if editor is not None and editor.needs_rebuild and self._world.step_index == 0:
            self._build()
            if editor.build_error or editor.question:
                return
        if self._time_limit and self._reached_duration():
            raise InputError("the time limit is reached; go back to the start, or switch the limit off")
        self._playing = self._error is None
        self._clock.restart(self._world.time)

    def _edit(self, command: commands.Command) -> None:
        """Change the document, and the running world as far as possible."""
        if self.editor is None:
            raise InputError("this world was made in Python; only scenes can be edited")
        before = self.editor.document.version
        try:
            self.editor.edit(command, self._world, self.panel)
        finally:
            if self.editor.document.version != before:
                self._clear_messages()
            self.publisher.dirty = True
            self._publish_state()

    def _clear_messages(self) -> None:
        """Clear messages about the world after a change of the scene, which may have removed their cause."""
        self._error = self._settle_report = None
        self.publisher.warnings.clear()

    def _start_from(self, command: commands.StartFrom) -> None:
        """Replace the document by a scene to start from, and run it."""
        self._edit(command)
        self._build()
        if self.editor is not None and not (self.editor.build_error or self.editor.question):
            self._play()

    def _save(self, command: commands.Save) -> None:
        """Write the document; from now on the scene has the name of its file."""
        self._edit(command)
        if self.editor is not None and self.editor.document.file is not None:
            self._scene_name = self.editor.document.file

    def _press_face(self, command: commands.PressFace) -> None:
        """Load a face for one step, or write the load to the document."""
        if not command.keep:
            self.interaction.load_face(command, self._world)
            return
        if self.editor is None:
            raise InputError("this world was made in Python; only scenes can keep loads")
        body = self._world.body(command.body)
        face = face_of_triangle(body, command.triangle)
        self.editor.add_face_load(body.name, face, command.traction, self._world, self.panel)

    def _record(self, on: bool, format: str) -> None:
        """Start recording frames, or write the recorded ones to a file."""
        self._busy.clear_cancel()
        if on:
            scene, editor = self.snapshot.scene, self.editor
            path = (
                Path.cwd() / self._world.name
                if editor is None
                else editor.document.folder / editor.document.stem
            )
            fps = _RECORD_FPS if scene.frame_schedule is None else scene.frame_schedule[1]
            view = {
                "color": self.snapshot.color or "plain",
                **({"camera": scene.camera} if scene.camera else {}),
            }
            self.exports.record(self._world, path, format, fps, view)
            return

        def progress(_what: str, done: int, total: int) -> None:
            self._busy.check_cancelled("the export was cancelled")
            self._busy.report(f"writing frame {done} of {total}", done / max(total, 1))

        try:
            self.exports.stop_recording(progress)
        finally:
            self._busy.report(None)
            self._clock.restart(self._world.time)

    def _record_parameter(self, key: str, value: Any) -> None:
        if self.editor is not None:
            self.editor.record_parameter(key, value, self._world, self.panel)

    def _sync_document(self) -> None:
        """Autosave edits, and rebuild the world after edits while it is at its start."""
        editor = self.editor
        if editor is None:
            return
        if editor.autosave():
            self._publish_state()
        if editor.changed and self._rebuilds_on_edit and not editor.build_attempted:
            self._build()
            self._publish_state()

    @property
    def _rebuilds_on_edit(self) -> bool:
        """Whether the world is paused at its start, so that every edit rebuilds it."""
        return not self._playing and self._world.step_index == 0

    def _build(self) -> None:
        """Rebuild the world from the document; if that fails, keep the old one and report the reason."""
        editor = self.editor
        if editor is None:
            self._reset()
            return
        self._playing = False
        with self._busy.track("building", "the build was cancelled"):
            scene = editor.build()
        if scene is not None:
            self._show_world(scene, same_scene=True)

    def _reset(self) -> None:
        self._release_all()
        if self.editor is not None:
            self._playing = False
            if self.editor.changed:
                self._build()
                return
        self._world.reset()
        self._error = self._settle_report = None
        self.publisher.clear()
        self._clock.restart(self._world.time)

    def _release_all(self) -> None:
        """End all interaction, and discard a recording."""
        pinned = bool(self.interaction.pinned)
        self.interaction.clear()
        if pinned:
            self.panel.refresh()
        self.exports.discard_recording()

    def _settle(self) -> None:
        """Solve for the static equilibrium; the state reports the result in a sentence."""
        self._settle_report = None
        self._busy.report("settling")
        try:
            reports = self._world.settle()
        except ContinuaError as error:
            text = str(error)
            self._settle_report = f"{text[:1].upper()}{text[1:]}."
            return
        finally:
            self._busy.clear()
        newton, steps = sum(r.newton_iterations for r in reports), max((r.steps for r in reports), default=1)
        self._settle_report = f"Settled with {newton} Newton iterations" + (
            f" in {steps} load steps." if steps > 1 else "."
        )
        for report in reports:
            self._settle_report += "".join(f" Body '{report.body}': {text}." for text in report.warnings)
        self._error = None
        self._clock.restart(self._world.time)
        self.publisher.dirty = True

    def _open(self, name: str) -> None:
        if self.editor is not None:  # the next one looks for unsaved edits
            self.editor.autosave(force=True)
        try:
            with self._busy.track(f"loading {name}", f"{name or 'the scene'} was not loaded"):
                scene = self._load(name)
        finally:
            self._publish_state()
        self._scene_name = name or scene.world.name
        self.editor = scene.editor
        self._show_world(scene)
        self._playing = scene.play
        self._publish_state()
        self._commands.drop_stale()

    def _show_world(self, scene: SessionScene, same_scene: bool = False) -> None:
        """Replace the world; one of the same scene keeps the camera."""
        self._release_all()
        world = self._world = scene.world
        self.panel = ControlPanel(world)
        self._error = self._settle_report = None
        self.publisher.clear()
        self._clock.restart(world.time)
        if self.publisher.publish(world, self.panel, self.interaction, self._clock, scene, same_scene):
            self._publish_state()
        else:
            self.publisher.listeners.notify_change()
        self._world_collector.add()

    def _step(self) -> None:
        begin = time.perf_counter()
        self.interaction.before_step(self._world)
        try:
            self.publisher.warnings.add(self._world.step())
            self._align_to_frame()
        except DivergedError as error:
            text = str(error)
            self._stop_on_error(
                f"The simulation became unstable and was paused. {text[:1].upper()}{text[1:]}."
            )
            return
        except Exception as error:  # the page must stay alive whatever happens in a step
            traceback.print_exc()
            self._stop_on_error(f"The simulation stopped because of an error: {error}")
            return
        finally:
            self.interaction.after_step()
        seconds = time.perf_counter() - begin
        if not self._clear_busy():  # the time of a step that compiled kernels is meaningless
            self.publisher.times.append((seconds, dict(self._world.timers)))
        self._clock.mark(self._world.time)
        self.publisher.dirty = True
        recorder = self.exports.recorder
        if recorder is not None and recorder.add_frame_if_due(self._world):
            self.exports.update_status()

    def _align_to_frame(self) -> None:
        """Set the exact time of a frame, as a run of the scene does, so that both are bitwise identical."""
        world, schedule = self._world, self.snapshot.scene.frame_schedule
        if schedule is None or world.step_index % schedule[0]:
            return
        frame, fps = world.step_index // schedule[0], schedule[1]
        # after steps of another length this is not the time of the frame
        if abs(world.time - frame / fps) < 1e-6 * world.dt:
            world.align_to_frame(frame, fps)

    def _stop_on_error(self, message: str) -> None:
        self.interaction.release(None)
        self._playing, self._error = False, message
        self._busy.clear()
        self.publisher.dirty = True
        self._publish_state()

    def report_kernels(self, done: int, total: int, seconds_left: float) -> None:
        """Report how many kernels of a scene that is being built are compiled; raise if the work was cancelled."""
        self._busy.report_count("compiling kernels", done, total, seconds_left)

    def _on_compile(self, _kernel: str) -> None:
        text = self._busy.text or ""
        if threading.current_thread() is self._thread and not text.endswith(_COMPILING):
            print("continua: compiling kernels (once) ...", flush=True)
            self._busy.report(f"{text}: {_COMPILING}" if text else _COMPILING)

    def _clear_busy(self) -> bool:
        """Clear the busy state after kernels were compiled; return whether there was one."""
        if self._busy.text is None:
            return False
        self._busy.report(None)
        self._clock.restart(self._world.time)
        return True

    def _publish(self, *, force: bool) -> None:
        if not self.publisher.due(force=force):
            return
        if self.publisher.publish(self._world, self.panel, self.interaction, self._clock):
            self._publish_state()
        else:
            self.publisher.listeners.notify_change()

    def _publish_state(self) -> None:
        editor = self.editor
        state = {
            "scene": self._scene_name,
            "playing": self._playing,
            "error": self._error,
            **self._busy.describe(),
            "settleReport": self._settle_report,
            "dt": float(self._world.dt),
            "fast": self._fast,
            "timeLimit": self._time_limit,
            "worldVersion": None
            if editor is None
            else editor.world_version(rebuilds_on_edit=self._rebuilds_on_edit),
            "buildError": editor.build_error if editor is not None else None,
            "question": editor.question if editor is not None else None,
            "warnings": editor.warnings if editor is not None else [],
        }
        self.publisher.publish_state(self.panel, state)

    def _report_failure(self, client: int, message: str, command: commands.Command) -> None:
        key = command.key if isinstance(command, commands.SetParameter) else getattr(command, "field", "")
        self.publisher.listeners.notify_failure(client, message, key)
