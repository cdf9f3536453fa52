"""Pictures of every frame, and a film of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from continua.atomic_io import atomic_path
from continua.errors import MissingExtraError
from continua.frames import Frame, RunInfo
from continua.output.deferred_sink import DeferredSink
from continua.render import InteriorPainter, Painter, make_view, save_png
from continua.render.composition import DEFAULT_COLOR
from continua.render.pyvista_view import import_pyvista

__all__ = ["GifSink", "Mp4Sink", "PngSink", "WebpSink"]


class _PictureSink(DeferredSink):
    """Draws all frames with one camera and one range of colours, which are known at the end of the run only.

    Args:
        folder: Where the results of the run go.
        view: Keywords of `continua.render.picture` that override those of the run's view.
    """

    def __init__(self, folder: str | os.PathLike[str], **view: Any) -> None:
        super().__init__(folder, color=view.pop("color", None))
        self._view = view

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the first `start` frames; a film of the interior stores the elements too."""
        self.volume = {**info.view, **self._view}.get("inside", "none") != "none"
        if self.volume:
            import_pyvista()  # reports missing packages at the start of a run
        super().open(info, start)

    @property
    def asked_color(self) -> str | None:
        """The requested field, or "plain"; pictures of the interior always have a field."""
        return super().asked_color or (DEFAULT_COLOR if self.volume else None)

    @property
    def action(self) -> str:
        """What `finish` does, as its progress is called."""
        return f"drawing {self.kind}"

    def pictures(self) -> Iterator[NDArray[np.uint8]]:
        """Draw the frames in order."""
        painter = self._painter(self._measured())
        for index, frame in enumerate(self.spool.frames()):
            self.report_done(index)
            yield painter.paint(frame)
        self.report_done(self.spool.count)

    def _painter(self, frames: Iterable[Frame]) -> Painter | InteriorPainter:
        view = {**self.info.view, **self._view, "color": self.asked_color}
        backend = str(view.pop("backend", "auto"))
        inside, levels = str(view.pop("inside", "none")), int(view.pop("levels", 5))
        look = make_view(frames, **view)
        return Painter(look, backend) if inside == "none" else InteriorPainter(look, inside, levels)

    def _measured(self) -> Iterator[Frame]:
        """Read the frames for the choice of the camera and of the range of colours."""
        for index, frame in enumerate(self.spool.frames()):
            if self.info.progress is not None:
                self.info.progress(f"measuring the frames for {self.kind}", index, self.spool.count)
            yield frame

    def try_out(self, frame: Frame) -> bool:
        """Draw and encode one frame."""
        self._encode(self._painter([frame]).paint(frame))
        return True

    def _encode(self, pixels: NDArray[np.uint8]) -> None:
        """Encode one picture and drop the result, if the format takes long for it."""


class PngSink(_PictureSink):
    """`png/NAME_000123.png` for each frame, drawn when the run ends."""

    kind = "png"
    suffix = ".png"

    @property
    def files(self) -> Path:
        """The folder of the pictures."""
        return self.folder / "png"

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the first `start` frames and drop the pictures of later ones."""
        super().open(info, start)
        self.output.subfolder(self.files.name)
        listed = self.output.frames(self.files, self.suffix, existing=False)
        self.output.remove(path for index, paths in listed.items() if index >= start for path in paths)

    def finish(self) -> list[Path]:
        """Draw all pictures; the last one comes first in the list."""
        paths = []
        for index, pixels in zip(self.spool.indices, self.pictures(), strict=True):
            path = self.files / f"{self.file_name}_{index:06d}{self.suffix}"
            save_png(pixels, self.output.record(path))
            paths.append(path)
        return [paths[-1], *paths[:-1]]


class Mp4Sink(_PictureSink):
    """`NAME.mp4`, H.264, drawn and encoded when the run ends; needs the "render" extra."""

    kind = "mp4"
    suffix = ".mp4"

    def __init__(self, folder: str | os.PathLike[str], **view: Any) -> None:
        super().__init__(folder, **view)
        try:
            import imageio_ffmpeg
        except ImportError:
            raise MissingExtraError("Writing MP4 films", "render") from None
        self._ffmpeg = imageio_ffmpeg

    def finish(self) -> list[Path]:
        """Encode the film."""
        # The number of encoder threads is fixed and its name omitted from the file, so that the same pictures give the
        # same bytes. Without the colour options players would guess another matrix than the one used.
        options = ["-crf", "17", "-preset", "medium", "-threads", "2", "-movflags", "+faststart"]
        options += ["-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"]
        options += ["-vf", "scale=out_color_matrix=bt709:out_range=tv"]
        options += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
        with atomic_path(self.output.record(self.path)) as temporary:
            film = None
            try:
                for pixels in self.pictures():
                    height, width = (side - side % 2 for side in pixels.shape[:2])  # H.264 needs even sizes
                    if film is None:
                        film = self._ffmpeg.write_frames(
                            str(temporary),
                            (width, height),
                            fps=self.info.fps,
                            codec="libx264",
                            quality=None,
                            macro_block_size=2,
                            output_params=options,
                        )
                        film.send(None)
                    film.send(np.ascontiguousarray(pixels[:height, :width]))
            finally:
                if film is not None:
                    film.close()
        return [self.path]


class _AnimatedSink(_PictureSink):
    """An animated image, for web pages and mails; written by Pillow."""

    options: ClassVar[dict[str, Any]]
    shortest = 1  # shortest duration of a picture [ms]

    def finish(self) -> list[Path]:
        """Draw and write the film; pictures that are too short for the format are omitted."""
        stride = max(1, round(self.shortest * self.info.fps / 1000.0))
        shown = (image for number, image in enumerate(self._images()) if number % stride == 0)
        first = next(shown)
        with atomic_path(self.output.record(self.path)) as temporary:
            first.save(
                temporary,
                format=self.kind.upper(),
                save_all=True,
                append_images=shown,
                duration=round(1000.0 * stride / self.info.fps),
                loop=0,
                **self.options,
            )
        return [self.path]

    def _encode(self, pixels: NDArray[np.uint8]) -> None:
        """Encode one picture and drop the result."""
        Image.fromarray(pixels).save(BytesIO(), format=self.kind.upper(), **self.options)

    def _images(self) -> Iterator[Image.Image]:
        return (Image.fromarray(pixels) for pixels in self.pictures())


class WebpSink(_AnimatedSink):
    """`NAME.webp`, an animated picture, drawn when the run ends."""

    kind = "webp"
    suffix = ".webp"
    options: ClassVar[dict[str, Any]] = {"quality": 82, "method": 4}


class GifSink(_AnimatedSink):
    """`NAME.gif`, an animated picture of 256 colours, drawn when the run ends; at most 50 pictures per second."""

    kind = "gif"
    suffix = ".gif"
    options: ClassVar[dict[str, Any]] = {"optimize": False, "disposal": 1}
    shortest = 20
