"""One animated glTF file of a run, in its binary form: morph targets that viewers blend in time."""

from __future__ import annotations

from pathlib import Path

from continua.atomic_io import atomic_write
from continua.output.deferred_sink import DeferredSink
from continua.output.glb_document import glb_bytes
from continua.output.glb_scene import AnimatedScene
from continua.render.composition import make_view

__all__ = ["GlbSink"]

# Viewers on the web keep morph targets in the layers of a texture, of which 256 are sure to be there.
MAX_KEYS = 240


class GlbSink(DeferredSink):
    """`NAME.glb` with each body's surface, its colours, and its motion; made when the run ends.

    Viewers that know colours of morph targets (three.js) animate the colours too; others show those of the
    frame with the highest values. Runs of more than 240 frames keep every second, third, ... frame; viewers
    blend between them. Each topology version of a body is a node of its own, shown while it lasts. A fluid, or a
    body of springs without a surface, is a set of points, or a surface where the run's view says so, for each of
    those frames.
    """

    kind = "glb"
    suffix = ".glb"

    def keys(self) -> list[int]:
        """Return the frames that are kept: evenly spaced from the first, and the last."""
        indices = self.spool.indices
        stride = max(1, -(-(len(indices) - 1) // (MAX_KEYS - 1)))
        return sorted({*indices[::stride], indices[-1]})

    def finish(self) -> list[Path]:
        """Write the file."""
        legend = make_view(self.spool.frames(), color=self.asked_color).legend
        keys = [self.spool.read(index) for index in self.keys()]
        scene = AnimatedScene(keys, self.color, legend, str(self.info.view.get("fluid") or "points"))
        names = list(dict.fromkeys(name for frame in keys for name in frame.bodies))
        for number, name in enumerate(names):
            scene.add_body(name, number)
            self.report_done((number + 1) * self.spool.count // len(names))
        with atomic_write(self.output.record(self.path)) as file:
            document = scene.describe(self.info.name)
            file.write(glb_bytes(document, scene.out.chunks))
        return [self.path]
