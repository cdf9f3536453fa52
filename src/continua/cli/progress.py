"""Progress of a run: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from continua.cli.formatting import time_text

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

__all__ = ["Progress"]

PLAIN_INTERVAL = 5.0
WINDOW = 60


class Progress:
    """Shows simulated time, steps per second, solver iterations and the time left.

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
        """Print a line that stays."""
        if self.quiet:
            return
        if self._live is not None:
            self._live.console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def phase(self, text: str) -> None:
        """Show what is being done when no step is."""
        self._text = text

    def step(self, simulated: float, steps: int, iterations: int) -> None:
        """Note where the run is: simulated time [s], steps done, and solver iterations in all."""
        now = time.perf_counter()
        self._marks.append((now, simulated, steps, iterations))
        self._text = self._numbers()
        if not self.live_line and not self.quiet and now - self._last_plain >= PLAIN_INTERVAL:
            self._last_plain = now
            self.say(self._text)

    def _numbers(self) -> str:
        now, simulated, steps, iterations = self._marks[-1]
        before, simulated0, steps0, iterations0 = self._marks[0]
        text = f"{simulated:7.3f} / {self.seconds:g} s"
        if steps > steps0 and now > before:
            rate = (steps - steps0) / (now - before)
            each = (iterations - iterations0) / (steps - steps0)
            left = (self.seconds - simulated) * (now - before) / max(simulated - simulated0, 1e-12)
            text += f"   {rate:6.1f} steps/s   {each:5.1f} iterations/step   {time_text(left)} left"
        return text

    def _compiling(self, kernel: str) -> None:
        self._compiled += 1
        self._marks.clear()  # the time it takes says nothing about the speed of steps
        self._text = f"compiling kernels (once): {kernel}"
        if self._compiled == 1 and not self.live_line:
            self.say("compiling kernels (once) ...")

    def _line(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        done = self._marks[-1][1] if self._marks else 0.0
        row = Table.grid(padding=(0, 1))
        row.add_row(ProgressBar(total=self.seconds, completed=done, width=24), Text(self._text, no_wrap=True))
        return row
