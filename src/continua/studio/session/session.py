"""The simulation behind the page: one thread that owns the world, paced to real time.

Only this thread touches the world. Commands reach it through a queue; what it publishes is an immutable
`Snapshot` in a slot that holds the latest one only, so a slow reader skips snapshots and never holds
the simulation up.
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
from continua.studio import protocol as ask
from continua.studio.controls.control_panel import Board
from continua.studio.export.manager import Exports
from continua.studio.interaction.drag_spring import face_under
from continua.studio.interaction.interaction import Touch
from continua.studio.session.busy_state import Work
from continua.studio.session.clock import Clock
from continua.studio.session.command_queue import Mailbox
from continua.studio.session.publisher import Herald
from continua.studio.session.snapshot import Listener, Opening, Snapshot
from continua.studio.session.world_gc import Leftovers

__all__ = ["Session"]

_RECORD_FPS = 30.0  # of worlds that were made in Python


class Session:
    """Runs a world in a thread of its own and tells listeners when there is something new.

    Args:
        scene: Name of the scene to start with.
        load: Builds the scene with a given name; called in the simulation's thread but for the first.

    Attributes:
        workshop: Where the scene is edited; None for a world that was made in Python.
        board: The knobs of the world.
        touch: What hands do to the world.
        exports: What is written into files.
        news: What pages are told.
    """

    def __init__(self, scene: str, load: Callable[[str], Opening]) -> None:
        opening = load(scene)
        self._world = opening.world
        self._load = load
        self._scene = scene
        self._mail = Mailbox()
        self._clock = Clock()
        self._playing = opening.play
        self._fast = self._limit = False
        self._error: str | None = None
        self._work = Work(self._tell_state)
        self._settled: str | None = None
        self._leftovers = Leftovers()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="continua-simulation", daemon=True)
        self.workshop = opening.workshop
        self.board = Board(opening.world)
        self.touch = Touch()
        self.news = Herald(opening)
        self.exports = Exports(self.news.audience.tell_change)
        self.news.publish(self._world, self.board, self.touch, self._clock)
        self._tell_state()

    # What other threads may call.

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self.news.snapshot

    @property
    def state(self) -> dict[str, Any]:
        """How the session is, ready for JSON."""
        return self.news.state

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step at hand."""
        self._stop.set()
        self._work.cancel()
        if self._thread.is_alive():
            self._mail.wake()
            self._thread.join(timeout=10.0)
        self.exports.close()
        if self.workshop is not None:
            self.workshop.keep(at_once=True)

    def listen(self, client: int, listener: Listener) -> None:
        """Tell a client what happens from now on. The simulation runs only while somebody listens."""
        self.news.audience.join(client, listener)
        self._mail.wake()

    def leave(self, client: int) -> None:
        """Forget a listener and let go of all that it pulls."""
        self.news.audience.leave(client)
        self._mail.wake()

    def submit(self, client: int, command: ask.Command) -> None:
        """Queue a command; raise `InputError` if far too many are waiting."""
        if isinstance(command, ask.Cancel):  # it cannot wait for what it is to end
            self._work.cancel()
            return
        if isinstance(command, ask.ExportCancel) and self.exports.recorder is None:
            self.exports.cancel()
            self._work.cancel()
            return
        self._mail.put(client, command)

    def go_to(self, seconds: float) -> None:
        """Simulate up to a time [s] and stay there, before the thread has started."""
        self._playing = False
        while self._world.time < seconds - 0.5 * self._world.dt and self._error is None:
            self._step()
        self._publish(force=True)
        self._tell_state()

    # What only the simulation's thread calls.

    def _run(self) -> None:
        with on_compile(self._compiling):
            self._clock.restart(self._world.time)
            while not self._stop.is_set():
                running = self._playing and self.news.audience.watched.is_set()
                self._obey(self._until_due() if running else 0.5)
                self._tend_document()
                running = self._playing and self.news.audience.watched.is_set() and not self._stop.is_set()
                if running and self._until_due() <= 0.0:
                    self._step()
                    self._stop_in_time()
                if not running:
                    self._clock.restart(self._world.time)
                self._publish(force=not running)
                self._be_free()
                if self._leftovers.sweep():
                    self._clock.restart(self._world.time)

    def _until_due(self) -> float:
        """Return the seconds until the next step may be done."""
        wait = self._clock.wait(self._world.time + self._world.dt)
        return 0.0 if self._fast else wait

    def _stop_in_time(self) -> None:
        """Pause when the time limit is reached."""
        if self._limit and self._ended():
            self._playing = False
            self._tell_state()

    def _ended(self) -> bool:
        shop = self.workshop
        return shop is not None and self._world.time > shop.seconds - 0.5 * self._world.dt

    def _obey(self, wait: float) -> None:
        """Carry out the waiting commands; if there is none, wait for the first."""
        for client, command in self._mail.take(wait):
            if self._stop.is_set():
                break
            self._try(client, command)
        for client in self.news.audience.take_gone():
            self.touch.release(client)

    def _try(self, client: int, command: ask.Command) -> None:
        try:
            self._do(client, command)
        except ContinuaError as error:
            self._tell_failure(client, str(error), command)
        except Exception as error:  # a fault in one command must not end the session
            traceback.print_exc()
            self._tell_failure(client, f"that did not work: {error}", command)

    def _do(self, client: int, command: ask.Command) -> None:
        world = self._world
        match command:
            case ask.Play():
                self._play()
            case ask.Pause():
                self._playing = False
            case ask.Step():
                self._playing = False
                if self._error is None:
                    self._step()
            case ask.Reset():
                self._reset()
            case ask.LoadScene(name=name):
                self._open(name)
            case ask.Set(key=key, value=value):
                self.board.turn(key, value)
                self.news.dirty = True
                self._note_turn(key, value)
            case ask.Settle():
                self._settle()
            case ask.Limit(on=on):
                self._limit = on
            case ask.Pace(fast=fast):
                self._fast = fast
                self._clock.restart(world.time)
            case ask.Build():
                self._build()
            case ask.NewScene():
                self._open("")
            case ask.EditScene() | ask.Add() | ask.Undo() | ask.Redo():
                self._edit(command)
            case ask.Recover() | ask.ReplaceScene():
                self._edit(command)
            case ask.Save():
                self._save(command)
            case ask.PressFace():
                self._press(command)
            case ask.Export(format=format):
                if self.workshop is None:
                    raise InputError("this world was made in Python; record it instead")
                self.exports.start(self.workshop.document, format)
            case ask.Record(on=on, format=format):
                self._record(on, format)
            case ask.ExportCancel():
                self.exports.drop_recording()
            case _:
                self._touch(client, command)
                return
        self._tell_state()

    def _touch(self, client: int, command: ask.Command) -> None:
        """Do what the mouse does to the bodies."""
        held = len(self.touch.held)
        self.news.dirty |= self.touch.obey(client, command, self._world, self.snapshot.frame)
        if isinstance(command, ask.Sketch | ask.SketchMove | ask.SketchRemove) and self.workshop is not None:
            self.workshop.note_drawing(command, self._world)
            self._tell_state()
        if len(self.touch.held) != held:
            self.board.look_again()
            self._tell_state()

    def _play(self) -> None:
        shop = self.workshop
        if shop is not None and shop.stale and self._world.step_index == 0:
            self._build()
            if shop.problem:
                return
        if self._limit and self._ended():
            raise InputError("the time limit is reached; go back to the start, or take the limit off")
        self._playing = self._error is None
        self._clock.restart(self._world.time)

    def _edit(self, command: ask.Command) -> None:
        """Change the document, and what of it can be changed in the running world at once."""
        if self.workshop is None:
            raise InputError("this world was made in Python; only scenes can be edited")
        try:
            self.workshop.edit(command, self._world, self.board)
        finally:
            self.news.dirty = True
            self._tell_state()

    def _save(self, command: ask.Save) -> None:
        """Write the document; from now on it goes by the name of its file."""
        self._edit(command)
        if self.workshop is not None and self.workshop.document.file is not None:
            self._scene = self.workshop.document.file

    def _press(self, command: ask.PressFace) -> None:
        """Load a face for one step, or write the load into the document."""
        if not command.keep:
            self.touch.push_face(command, self._world)
            return
        if self.workshop is None:
            raise InputError("this world was made in Python; only scenes keep loads")
        body = self._world.body(command.body)
        self.workshop.keep_load(body.name, face_under(body, command.triangle), command.traction)

    def _record(self, on: bool, format: str) -> None:
        """Begin to keep frames, or make a file of those that were kept."""
        self._work.begin()
        if on:
            opening, shop = self.snapshot.opening, self.workshop
            place = (
                Path.cwd() / self._world.name if shop is None else shop.document.folder / shop.document.stem
            )
            fps = _RECORD_FPS if opening.rhythm is None else opening.rhythm[1]
            view = {
                "color": opening.color or "plain",
                **({"camera": opening.camera} if opening.camera else {}),
            }
            self.exports.record(self._world, place, format, fps, view)
            return

        def progress(_what: str, done: int, total: int) -> None:
            self._work.check("the export was cancelled")
            self._work.say(f"writing frame {done} of {total}", done / max(total, 1))

        try:
            self.exports.stop_recording(progress)
        finally:
            self._work.say(None)
            self._clock.restart(self._world.time)

    def _note_turn(self, key: str, value: Any) -> None:
        if self.workshop is not None:
            self.workshop.note_turn(key, value, self._world)

    def _tend_document(self) -> None:
        """Keep edits aside, and while nothing has moved yet, let the world follow its document."""
        shop = self.workshop
        if shop is None:
            return
        if shop.keep():
            self._tell_state()
        if shop.changed and self._follows and not shop.tried:
            self._build()
            self._tell_state()

    @property
    def _follows(self) -> bool:
        """Whether nothing has moved yet, so that the world is built anew after every edit."""
        return not self._playing and self._world.step_index == 0

    def _build(self) -> None:
        """Make the world anew from the document; if that fails the old one stays, and the reason is told."""
        shop = self.workshop
        if shop is None:
            self._reset()
            return
        self._playing = False
        with self._work.watched("building", "the build was cancelled"):
            opening = shop.build()
        if opening is not None:
            self._take(opening, same=True)

    def _reset(self) -> None:
        self._let_go()
        if self.workshop is not None:
            self._playing = False
            if self.workshop.changed:
                self._build()
                return
        self._world.reset()
        self._error = self._settled = None
        self.news.forget()
        self._clock.restart(self._world.time)

    def _let_go(self) -> None:
        """Take all hands off the world, and end a recording of it."""
        held = bool(self.touch.held)
        self.touch.forget()
        if held:
            self.board.look_again()
        self.exports.drop_recording()

    def _settle(self) -> None:
        """Go to the equilibrium; how that went is told in the state, in a sentence."""
        self._settled = None
        self._work.say("settling")
        try:
            reports = self._world.settle()
        except ContinuaError as error:
            text = str(error)
            self._settled = f"{text[:1].upper()}{text[1:]}."
            return
        finally:
            self._work.text = None
        newton, steps = sum(r.newton for r in reports), max((r.steps for r in reports), default=1)
        self._settled = f"Settled with {newton} Newton iterations" + (
            f" in {steps} load steps." if steps > 1 else "."
        )
        self._error = None
        self._clock.restart(self._world.time)
        self.news.dirty = True

    def _open(self, name: str) -> None:
        if self.workshop is not None:  # before the next one looks what was left behind
            self.workshop.keep(at_once=True)
        try:
            with self._work.watched(f"loading {name}", f"{name or 'the scene'} was not loaded"):
                opening = self._load(name)
        finally:
            self._tell_state()
        self._scene = name or opening.world.name
        self.workshop = opening.workshop
        self._take(opening)
        self._playing = opening.play
        self._tell_state()
        self._mail.forget_old()

    def _take(self, opening: Opening, same: bool = False) -> None:
        """Show another world; one of the same scene is looked at as before."""
        self._let_go()
        world = self._world = opening.world
        self.board = Board(world)
        self._error = self._settled = None
        self.news.forget()
        self._clock.restart(world.time)
        if self.news.publish(world, self.board, self.touch, self._clock, opening, same):
            self._tell_state()
        else:
            self.news.audience.tell_change()
        self._leftovers.add()

    def _step(self) -> None:
        begin = time.perf_counter()
        self.touch.before_step(self._world)
        try:
            self._world.step()
            self._land()
        except DivergedError as error:
            text = str(error)
            self._halt(f"The simulation became unstable and was paused. {text[:1].upper()}{text[1:]}.")
            return
        except Exception as error:  # the page must stay alive whatever happens in a step
            traceback.print_exc()
            self._halt(f"The simulation stopped because of an error: {error}")
            return
        finally:
            self.touch.after_step()
        seconds = time.perf_counter() - begin
        if not self._be_free():  # it compiled; that time says nothing about the step
            self.news.times.append((seconds, dict(self._world.timers)))
        self._clock.mark(self._world.time)
        self.news.dirty = True
        recorder = self.exports.recorder
        if recorder is not None and recorder.take(self._world):
            self.exports.noted()

    def _land(self) -> None:
        """Fall on the exact times of frames, as a run of the scene does, so that both give the same bits."""
        world, rhythm = self._world, self.snapshot.opening.rhythm
        if rhythm is None or world.step_index % rhythm[0]:
            return
        if world.dt == 1.0 / (rhythm[1] * rhythm[0]):
            world.land(world.step_index // rhythm[0], rhythm[1])

    def _halt(self, message: str) -> None:
        self.touch.release(None)
        self._playing, self._error, self._work.text = False, message, None
        self.news.dirty = True
        self._tell_state()

    def _compiling(self, _kernel: str) -> None:
        if self._work.text is None and threading.current_thread() is self._thread:
            print("continua: compiling kernels (once) ...", flush=True)
            self._work.say("compiling kernels (only the first time)")

    def _be_free(self) -> bool:
        """Say that nothing is compiled any more; return whether something was, by whatever had to be done."""
        if self._work.text is None:
            return False
        self._work.say(None)
        self._clock.restart(self._world.time)
        return True

    def _publish(self, *, force: bool) -> None:
        if not self.news.due(force=force):
            return
        if self.news.publish(self._world, self.board, self.touch, self._clock):
            self._tell_state()
        else:
            self.news.audience.tell_change()

    def _tell_state(self) -> None:
        shop = self.workshop
        facts = {
            "scene": self._scene,
            "playing": self._playing,
            "error": self._error,
            **self._work.describe(),
            "settled": self._settled,
            "dt": float(self._world.dt),
            "fast": self._fast,
            "limit": self._limit,
            "fits": None if shop is None else shop.fits(follows=self._follows),
            "problem": shop.problem if shop is not None else None,
            "notes": shop.notes if shop is not None else [],
        }
        self.news.tell_state(self.board, facts)

    def _tell_failure(self, client: int, message: str, command: ask.Command) -> None:
        key = command.key if isinstance(command, ask.Set) else getattr(command, "field", "")
        self.news.audience.tell_failure(client, message, key)
