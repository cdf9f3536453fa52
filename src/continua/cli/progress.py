"""Progress of a run: one live line on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from continua.cli.formatting import time_text
from continua.cli.timing import LapTimer, TimeLeft

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

__all__ = ["Progress"]

PLAIN_INTERVAL = 5.0
WINDOW = 60
BAR_WIDTH, MIN_BAR_WIDTH = 24, 8  # columns: the bar is the first to give way to the text


class Progress:
    """Shows simulated time, steps per second, solver iterations and the time left.

    The time left is that of the whole run: of the stage that is shown, and of later ones as far as they are known from
    `expect`. Compiling does not count for it.

    Args:
        seconds: Simulated time of the whole run [s].
        quiet: Show nothing.
    """

    def __init__(self, seconds: float, *, quiet: bool = False) -> None:
        self.seconds = seconds
        self.quiet = quiet
        self.live_line = not quiet and sys.stderr.isatty()
        self._live: Live | None = None
        self._text = ""
        self._last_plain = 0.0
        self._compiled = 0
        self._timer = LapTimer()
        self._worked = 0.0
        self._stage = ""
        self._done, self._total = 0.0, seconds
        self._left = TimeLeft(seconds)
        self._later: dict[str, float] = {}
        self._marks: deque[tuple[float, float, int, int]] = deque(maxlen=WINDOW)

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the line while the block runs; kernels that compile meanwhile are named on it."""
        from continua.numerics import on_compile

        with on_compile(self._compiling):
            if not self.live_line:
                yield self
                return
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False)
            with Live(
                console=console, refresh_per_second=8, transient=True, get_renderable=self._line
            ) as live:
                self._live = live
                try:
                    yield self
                finally:
                    self._live = None

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if self.quiet:
            return
        if self._live is not None:
            self._live.console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def warnings_said(self) -> Iterator[None]:
        """Print every Python warning of the block as a permanent line."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_args, **_keywords: self.say(f"warning: {message}")
            yield

    def phase(self, text: str) -> None:
        """Show the current operation between steps."""
        self._text = text

    def expect(self, name: str, seconds: float) -> None:
        """Announce a later stage and how long it will take [s]."""
        self._later[name] = seconds

    def stage(self, name: str, done: float, total: float) -> None:
        """Show how much of a stage besides the steps is done, and the time left.

        Args:
            name: What is done, such as "drawing mp4". Another name begins another stage.
            done: How much is done of it, in any unit.
            total: How much there is to do.
        """
        self._count(name, done, total)
        part = 100.0 * done / total if total > 0.0 else 100.0
        self._show(f"{name}   {done:g} / {total:g}   {part:3.0f} %{self._time_left()}")

    def part(self, text: str, done: float, total: float, seconds_left: float) -> None:
        """Show work before the steps, whose time left is known [s]; it does not count for that of the run."""
        self._done, self._total = done, total
        self._timer.lap()
        self._show(f"{text}   about {time_text(seconds_left)} left")

    def step(self, simulated: float, steps: int, iterations: int) -> None:
        """Update the simulated time [s], the number of steps, and the total of solver iterations."""
        self._count("", simulated, self.seconds)
        self._marks.append((self._worked, simulated, steps, iterations))
        self._show(self._numbers())

    def _count(self, stage: str, done: float, total: float) -> None:
        worked, _ = self._timer.lap()
        self._worked += worked
        if stage != self._stage:
            self._stage = stage
            self._left = TimeLeft(total)
            self._later.pop(stage, None)
        self._done, self._total = done, total
        self._left.update(done, worked)

    def _show(self, text: str) -> None:
        """Show a line that replaces the last one; elsewhere than on a terminal print one every few seconds."""
        self._text = text
        now = time.perf_counter()
        if not self.live_line and not self.quiet and now - self._last_plain >= PLAIN_INTERVAL:
            self._last_plain = now
            self.say(text)

    def _numbers(self) -> str:
        worked, simulated, steps, iterations = self._marks[-1]
        before, _, steps0, iterations0 = self._marks[0]
        text = f"{simulated:7.3f} / {self.seconds:g} s{self._time_left()}"
        if steps > steps0 and worked > before:  # last, as a narrow terminal cuts the end of the line
            rate = (steps - steps0) / (worked - before)
            each = (iterations - iterations0) / (steps - steps0)
            text += f"   {rate:6.1f} steps/s   {each:5.1f} iterations/step"
        return text

    def _time_left(self) -> str:
        left = self._left.seconds
        return "" if left is None else f"   {time_text(left + sum(self._later.values()))} left"

    def _compiling(self, kernel: str) -> None:
        self._compiled += 1
        self._text = f"compiling kernels (once): {kernel}"
        if self._compiled == 1 and not self.live_line:
            self.say("compiling kernels (once) ...")

    def _line(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        columns = 80 if self._live is None else self._live.console.width
        width = min(max(columns - len(self._text) - 2, MIN_BAR_WIDTH), BAR_WIDTH)
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._total, completed=self._done, width=width)
        row.add_row(bar, Text(self._text, no_wrap=True))
        return row
