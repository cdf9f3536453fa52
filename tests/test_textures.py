"""Images: what they accept, how they are looked up, and how they become files."""

import io

import numpy as np
import pytest
from PIL import Image

import continua as ct
from continua.errors import InputError
from continua.textures import linear_to_srgb, srgb_to_linear

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("bands", [3, 4])
@pytest.mark.parametrize("size", [(1, 1), (3, 7), (16, 5)])
def test_png_keeps_every_pixel(tmp_path, bands, size):
    pixels = RNG.integers(0, 256, (*size, bands), dtype=np.uint8)
    texture = ct.Texture(pixels)
    assert (texture.height, texture.width) == size
    path = tmp_path / "image.png"
    path.write_bytes(texture.png())
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(texture.png()))), pixels)
    again = ct.Texture.read(path)
    np.testing.assert_array_equal(again.pixels, pixels)
    assert again.digest == texture.digest
    assert texture.png() == again.png()


def test_other_formats_become_rgb(tmp_path):
    gray = Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8))
    gray.save(tmp_path / "gray.png")
    np.testing.assert_array_equal(
        ct.Texture.read(tmp_path / "gray.png").pixels, np.repeat(np.asarray(gray)[:, :, None], 3, axis=2)
    )
    Image.new("RGB", (4, 4), (200, 10, 10)).save(tmp_path / "red.jpg")
    assert np.abs(ct.Texture.read(tmp_path / "red.jpg").pixels.astype(int) - [200, 10, 10]).max() < 6


def test_sampling_is_exact_at_pixel_centres_linear_between_them_and_repeats():
    texture = ct.Texture(RNG.integers(0, 256, (5, 4, 3), dtype=np.uint8))
    column, row = np.meshgrid(np.arange(4), np.arange(5))
    centres = np.stack([(column + 0.5) / 4, 1.0 - (row + 0.5) / 5], axis=2).reshape(-1, 2)
    np.testing.assert_allclose(texture.sample(centres), texture.pixels.reshape(-1, 3) / 255.0, atol=1e-12)
    between = centres[:1] + [[0.125, 0.0]]
    mean = texture.pixels[0, :2].mean(axis=0) / 255.0
    np.testing.assert_allclose(texture.sample(between)[0], mean, atol=1e-12)
    np.testing.assert_allclose(texture.sample(centres + [3.0, -2.0]), texture.sample(centres), atol=1e-12)
    edge = texture.sample([[0.0, 0.9]])[0]  # half of the first and half of the last column
    np.testing.assert_allclose(edge, texture.pixels[0, [0, -1]].mean(axis=0) / 255.0, atol=1e-12)


def test_light_and_srgb_are_inverse():
    values = np.linspace(0.0, 1.0, 256)
    np.testing.assert_allclose(linear_to_srgb(srgb_to_linear(values)), values, atol=1e-12)


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 3)),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 2), np.uint8),
    ],
)
def test_wrong_pixels_are_refused(pixels):
    with pytest.raises(InputError, match="a texture needs pixels, an array of type uint8"):
        ct.Texture(pixels)


@pytest.mark.parametrize("factor", [(1.0, 1.0), (2.0, 0.0, 0.0), (np.nan, 0.0, 0.0)])
def test_wrong_factors_are_refused(factor):
    with pytest.raises(InputError, match="factor of a texture must be three numbers"):
        ct.Texture(np.zeros((1, 1, 3), np.uint8), factor)


def test_missing_and_broken_images_are_explained(tmp_path):
    with pytest.raises(InputError, match=r"the image cannot be read: there is no such file") as info:
        ct.Texture.read(tmp_path / "no.png")
    assert "no.png" in str(info.value)
    (tmp_path / "broken.png").write_bytes(ct.Texture(RNG.integers(0, 256, (64, 64, 3), np.uint8)).png()[:200])
    with pytest.raises(InputError, match="the image cannot be read"):
        ct.Texture.read(tmp_path / "broken.png")
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(InputError, match="the image cannot be read"):
        ct.Texture.read(tmp_path / "text.png")
    with pytest.raises(InputError, match="the image cannot be read"):
        ct.Texture.read(tmp_path)


def test_pixels_cannot_be_changed():
    source = np.zeros((2, 2, 3), np.uint8)
    texture = ct.Texture(source)
    source[:] = 9
    assert texture.pixels.max() == 0
    with pytest.raises(ValueError, match="read-only"):
        texture.pixels[0, 0, 0] = 1
