"""The simulation behind the page: one thread that owns the world, paced to real time.

Only this thread touches the world. Commands reach it through a queue; what it publishes is an immutable
`Snapshot` in a slot that holds the latest one only, so a slow reader skips snapshots and never holds
the simulation up.
"""

from __future__ import annotations

import gc
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from continua.errors import ContinuaError, DivergedError, InputError
from continua.frames import StepReport
from continua.numerics.kernel import on_compile
from continua.studio.board import Board
from continua.studio.clock import Clock
from continua.studio.hand import Hand, face_under
from continua.studio.protocol import (
    Add,
    Build,
    Cancel,
    Command,
    EditScene,
    Limit,
    LoadScene,
    NewScene,
    Pace,
    Pause,
    Play,
    PressFace,
    PullBegin,
    PullEnd,
    PullMove,
    Recover,
    Redo,
    ReplaceScene,
    Reset,
    Save,
    Set,
    Settle,
    Step,
    Undo,
)
from continua.studio.snapshot import Listener, Opening, Sample, Snapshot, Stats, energy_of

if TYPE_CHECKING:
    pass

__all__ = ["MAX_RATE", "Session"]

MAX_RATE = 30.0
"""Most snapshots published a second."""

_QUEUE_LIMIT = 2000
_PULLS_PER_CLIENT = 10
_SAMPLES = 600


class Session:
    """Runs a world in a thread of its own and tells listeners when there is something new.

    Args:
        scene: Name of the scene to start with.
        load: Builds the scene with a given name; called in the simulation's thread but for the first.
    """

    def __init__(self, scene: str, load: Callable[[str], Opening]) -> None:
        opening = load(scene)
        world = self._world = opening.world
        self._load = load
        self._scene = scene
        self._commands: queue.Queue[tuple[int, Command] | None] = queue.Queue(_QUEUE_LIMIT)
        self._pulls: dict[tuple[int, int], Hand] = {}
        self._listeners: dict[int, Listener] = {}
        self._pokes: list[Any] = []
        self._gone: set[int] = set()
        self._lock = threading.Lock()
        self._watched = threading.Event()
        self._clock = Clock()
        self._playing = opening.play
        self._fast = self._limit = False
        self._cancelled = threading.Event()
        self.workshop = opening.workshop
        self._error: str | None = None
        self._busy: str | None = None
        self._settled: str | None = None
        self.board = Board(world)
        self._shown: tuple[Board | None, int] = (None, 0)
        self._values: dict[str, Any] = {}
        self._next_publish = 0.0
        self._dirty = False
        self._times: list[float] = []
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self._reports: tuple[StepReport, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="continua-simulation", daemon=True)
        self.panel: dict[str, Any] = {}
        self.panel_version = 0
        self.state: dict[str, Any] = {}
        self.state_version = 0
        self.snapshot = Snapshot(0, 1, world.frame(), Stats(), opening, marks=self.board.marks())
        self._tell_state()

    # What other threads may call.

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step at hand."""
        self._stop.set()
        if self._thread.is_alive():
            self._wake()
            self._thread.join(timeout=10.0)
        if self.workshop is not None:
            self.workshop.keep(at_once=True)

    def listen(self, client: int, listener: Listener) -> None:
        """Tell a client what happens from now on. The simulation runs only while somebody listens."""
        with self._lock:
            self._listeners[client] = listener
        self._watched.set()
        self._wake()

    def leave(self, client: int) -> None:
        """Forget a listener and let go of all that it pulls."""
        with self._lock:
            self._listeners.pop(client, None)
            if not self._listeners:
                self._watched.clear()
            self._gone.add(client)
        self._wake()

    def submit(self, client: int, command: Command) -> None:
        """Queue a command; raise `InputError` if far too many are waiting."""
        if isinstance(command, Cancel):  # it cannot wait for what it is to end
            self._cancelled.set()
            return
        try:
            self._commands.put_nowait((client, command))
        except queue.Full:
            raise InputError("too many commands are waiting; the last one was dropped") from None

    def _wake(self) -> None:
        with suppress(queue.Full):  # then it is awake
            self._commands.put_nowait(None)

    # What only the simulation's thread calls.

    def _run(self) -> None:
        with on_compile(self._compiling):
            self._clock.restart(self._world.time)
            while not self._stop.is_set():
                running = self._playing and self._watched.is_set()
                self._obey(self._until_due() if running else 0.5)
                self._tend_document()
                running = self._playing and self._watched.is_set() and not self._stop.is_set()
                if running and self._until_due() <= 0.0:
                    self._step()
                    self._stop_in_time()
                if not running:
                    self._clock.restart(self._world.time)
                self._publish(force=not running)

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
        with suppress(queue.Empty):
            item = self._commands.get(timeout=wait) if wait > 0.0 else self._commands.get_nowait()
            while not self._stop.is_set():
                if item is not None:
                    self._try(*item)
                item = self._commands.get_nowait()
        with self._lock:
            gone, self._gone = self._gone, set()
        for client in gone:
            self._release(client)

    def _try(self, client: int, command: Command) -> None:
        try:
            self._do(client, command)
        except ContinuaError as error:
            self._tell_failure(client, str(error), command)
        except Exception as error:  # a fault in one command must not end the session
            traceback.print_exc()
            self._tell_failure(client, f"that did not work: {error}", command)

    def _do(self, client: int, command: Command) -> None:
        world = self._world
        match command:
            case Play():
                self._play()
            case Pause():
                self._playing = False
            case Step():
                self._playing = False
                if self._error is None:
                    self._step()
            case Reset():
                self._reset()
            case LoadScene(name=name):
                self._open(name)
            case Set(key=key, value=value):
                self.board.turn(key, value)
                self._dirty = True
                self._note_turn(key, value)
            case Settle():
                self._settle()
            case Limit(on=on):
                self._limit = on
            case Pace(fast=fast):
                self._fast = fast
                self._clock.restart(world.time)
            case Build():
                self._build()
            case NewScene():
                self._open("")
            case EditScene() | Add() | Undo() | Redo() | Save() | Recover() | ReplaceScene():
                self._edit(command)
            case PressFace():
                self._press(command)
            case PullBegin():
                self._begin_pull(client, command)
                return
            case PullMove(id=number, target=target):
                if (pull := self._pulls.get((client, number))) is not None:
                    pull.target = target
                return
            case PullEnd(id=number):
                if (pull := self._pulls.pop((client, number), None)) is not None:
                    pull.remove()
                return
            case _:
                return
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

    def _edit(self, command: Command) -> None:
        """Change the document, and what of it can be changed in the running world at once."""
        if self.workshop is None:
            raise InputError("this world was made in Python; only scenes can be edited")
        try:
            self.workshop.edit(command, self._world, self.board)
        finally:
            self._dirty = True
            self._tell_state()

    def _press(self, command: PressFace) -> None:
        """Load a face for one step, or write the load into the document."""
        body = self._world.body(command.body)
        face = face_under(body, command.triangle)
        if command.keep:
            if self.workshop is None:
                raise InputError("this world was made in Python; only scenes keep loads")
            self.workshop.keep_load(body.name, face, command.traction)
        else:
            self._pokes.append(body.load_faces(np.array([face]), command.traction))

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
        if shop.changed and not self._playing and self._world.step_index == 0 and not shop.tried:
            self._build()
            self._tell_state()

    def _build(self) -> None:
        """Make the world anew from the document; if that fails the old one stays, and the reason is told."""
        shop = self.workshop
        if shop is None:
            self._reset()
            return
        self._cancelled.clear()
        self._playing = False

        def progress(text: str) -> None:
            self._busy = text
            self._tell_state()
            if self._cancelled.is_set():
                raise InputError("the build was cancelled")

        try:
            opening = shop.build(progress)
        finally:
            self._busy = None
        if opening is not None:
            self._take(opening, same=True)

    def _begin_pull(self, client: int, command: PullBegin) -> None:
        key = (client, command.id)
        if key in self._pulls:
            self._pulls.pop(key).remove()
        if sum(owner == client for owner, _ in self._pulls) >= _PULLS_PER_CLIENT:
            raise InputError(f"at most {_PULLS_PER_CLIENT} points can be pulled at a time")
        body = self._world.body(command.body)
        held = self.snapshot.frame[body.name]
        self._pulls[key] = Hand(body, held, command.triangle, command.barycentric, command.target)

    def _release(self, client: int | None) -> None:
        for key in [key for key in self._pulls if client is None or key[0] == client]:
            self._pulls.pop(key).remove()

    def _reset(self) -> None:
        self._release(None)
        if self.workshop is not None:
            self._playing = False
            if self.workshop.changed:
                self._build()
                return
        self._world.reset()
        self._error = self._settled = None
        self._reports = ()
        self._times.clear()
        self._samples.clear()
        self._clock.restart(self._world.time)
        self._dirty = True

    def _settle(self) -> None:
        """Go to the equilibrium; how that went is told in the state, in a sentence."""
        self._busy, self._settled = "settling", None
        self._tell_state()
        try:
            reports = self._world.settle()
        except ContinuaError as error:
            text = str(error)
            self._settled = f"{text[:1].upper()}{text[1:]}."
            return
        finally:
            self._busy = None
        newton, steps = sum(r.newton for r in reports), max((r.steps for r in reports), default=1)
        self._settled = f"Settled with {newton} Newton iterations" + (
            f" in {steps} load steps." if steps > 1 else "."
        )
        self._error = None
        self._clock.restart(self._world.time)
        self._dirty = True

    def _open(self, name: str) -> None:
        self._busy = f"loading {name}"
        self._tell_state()
        try:
            opening = self._load(name)
        finally:
            self._busy = None
            self._tell_state()
        if self.workshop is not None:
            self.workshop.keep(at_once=True)
        self._scene = name or opening.world.name
        self.workshop = opening.workshop
        self._take(opening)
        self._playing = opening.play
        self._tell_state()
        self._forget_old_commands()
        gc.collect()  # worlds hold large arrays in reference cycles

    def _take(self, opening: Opening, same: bool = False) -> None:
        """Show another world; one of the same scene is looked at as before."""
        self._release(None)
        self._pokes.clear()
        world = self._world = opening.world
        self.board = Board(world)
        self._error, self._settled, self._reports = None, None, ()
        self._times.clear()
        self._samples.clear()
        self._clock.restart(world.time)
        self._publish(force=True, opening=opening, same=same)

    def _forget_old_commands(self) -> None:
        """Drop what was sent while the scene was loading: it was meant for the bodies before."""
        waiting = []
        with suppress(queue.Empty):
            while True:
                waiting.append(self._commands.get_nowait())
        for item in waiting:
            if item is None or not isinstance(item[1], Set | Settle | PullBegin | EditScene):
                with suppress(queue.Full):
                    self._commands.put_nowait(item)

    def _step(self) -> None:
        begin = time.perf_counter()
        pokes, self._pokes = self._pokes, []
        try:
            self._reports = self._world.step()
        except DivergedError as error:
            text = str(error)
            self._halt(f"The simulation became unstable and was paused. {text[:1].upper()}{text[1:]}.")
            return
        except Exception as error:  # the page must stay alive whatever happens in a step
            traceback.print_exc()
            self._halt(f"The simulation stopped because of an error: {error}")
            return
        finally:
            for poke in pokes:
                poke.remove()
        seconds = time.perf_counter() - begin
        if self._busy is not None:  # it compiled; that time says nothing about the step
            self._busy = None
            self._tell_state()
            self._clock.restart(self._world.time)
        else:
            self._times.append(seconds)
        self._clock.mark(self._world.time)
        self._dirty = True

    def _halt(self, message: str) -> None:
        self._release(None)
        self._playing, self._error, self._busy = False, message, None
        self._dirty = True
        self._tell_state()

    def _compiling(self, _kernel: str) -> None:
        if self._busy is None:
            self._busy = "compiling kernels (only the first time)"
            print("continua: compiling kernels (once) ...", flush=True)
            self._tell_state()

    def _publish(self, *, force: bool, opening: Opening | None = None, same: bool = False) -> None:
        now = time.perf_counter()
        if opening is None and not (self._dirty and (now >= self._next_publish or force)):
            return
        self._dirty = False
        steps, rate = self._clock.rates()
        step_ms = 1e3 * sum(self._times) / len(self._times) if self._times else self.snapshot.stats.step_ms
        self._times.clear()
        before = self.snapshot
        frame = self._world.frame()
        look_ms = 1e3 * (time.perf_counter() - now)
        bodies_ms = min(1e3 * sum(report.seconds for report in frame.reports), step_ms)
        shares = {"bodies": bodies_ms, "contact and rest of a step": step_ms - bodies_ms, "looking": look_ms}
        # Steps come in whole time steps, so the pauses between snapshots differ; their mean counts. Large
        # bodies take long to look at (stresses, energies); at most a third of the time goes into that.
        pause = max(0.5 / MAX_RATE, 3.0 * (time.perf_counter() - now))
        self._next_publish = max(self._next_publish + 1.0 / MAX_RATE, now + pause)
        self._samples.append((before.seq + 1, frame.time, step_ms, energy_of(frame)))
        self.snapshot = Snapshot(
            seq=before.seq + 1,
            epoch=before.epoch + (opening is not None),
            view=before.view + (opening is not None and not same),
            frame=frame,
            samples=tuple(self._samples),
            stats=Stats(step_ms, steps, rate, shares),
            opening=opening or before.opening,
            marks=self.board.marks(),
            live=self.board.live(),
            hands={key: [float(part) for part in hand.force] for key, hand in self._pulls.items()},
            solvers=self.board.solvers(),
        )
        if self.board.values() != self._values:  # the world has changed something by itself
            self._tell_state()
        else:
            self._tell_change()

    def _tell_state(self) -> None:
        if (shown := (self.board, self.board.version)) != self._shown:
            self._shown = shown
            self.panel = {"type": "panel", **self.board.describe()}
            self.panel_version += 1
        self._values = self.board.values()
        shop = self.workshop
        self.state_version += 1
        self.state = {
            "type": "state",
            "scene": self._scene,
            "playing": self._playing,
            "error": self._error,
            "busy": self._busy,
            "settled": self._settled,
            "dt": float(self._world.dt),
            "values": self._values,
            "fast": self._fast,
            "limit": self._limit,
            "stale": shop is not None and shop.stale,
            "problem": shop.problem if shop is not None else None,
            "notes": shop.notes if shop is not None else [],
        }
        self._tell_change()

    def _tell_change(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener.changed()

    def _tell_failure(self, client: int, message: str, command: Command) -> None:
        with self._lock:
            listener = self._listeners.get(client)
        if listener is not None:
            field = command.field if isinstance(command, EditScene) else ""
            listener.failed(message, command.key if isinstance(command, Set) else field)
