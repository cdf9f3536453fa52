from __future__ import annotations

import h5py
import numpy as np
import pytest

from continua.errors import InputError
from continua.output import checkpoint


class World:
    """The least that can be saved: every kind of value, with bits that a sloppy path would lose."""

    def state(self):
        odd = np.array([np.nan, -0.0, np.inf, 5e-324, 0.1 + 0.2])
        odd.view(np.uint64)[0] |= 0xBEEF  # a NaN that carries bits
        return {
            "block/positions": np.random.default_rng(3).standard_normal((7, 3)),
            "block/odd": odd,
            "block/flags": np.array([True, False]),
            "block/rows": np.arange(5, dtype=np.int32),
            "block/none": np.empty((0, 3)),
            "block/half": np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2],
            "world/step": 12345678901234,
            "world/time": 0.1 + 0.2,
            "world/wind": True,
            "world/name": "Brücke",
        }


def save(path, **options):
    given = {"frames_done": 4, "seconds": 2.0, "fps": 60.0} | options
    checkpoint.save(path, World(), "name: swing # Kommentar ü\n", **given)


def test_every_bit_comes_back(tmp_path):
    path = tmp_path / "run.h5"
    save(path)
    back = checkpoint.load(path)
    want = World().state()
    assert set(back.state) == set(want)
    for key, value in want.items():
        got = back.state[key]
        assert type(got) is type(value), key
        if isinstance(value, np.ndarray):
            assert got.dtype == value.dtype
            assert got.shape == value.shape
            assert got.tobytes() == np.ascontiguousarray(value).tobytes()
        else:
            assert got == value
    assert back.scene == "name: swing # Kommentar ü\n"
    assert (back.frames_done, back.seconds, back.fps) == (4, 2.0, 60.0)


def test_same_state_same_file(tmp_path):
    save(tmp_path / "a.h5")
    save(tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_plain_h5py_reads_it(tmp_path):
    save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        np.testing.assert_array_equal(file["state/block/positions"], World().state()["block/positions"])
        assert file.attrs["frames_done"] == 4


@pytest.mark.parametrize("part", [0.0, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_truncated_file_is_refused(tmp_path, part):
    path = tmp_path / "run.h5"
    save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(path)


def test_any_flipped_bit_is_one_sentence(tmp_path):
    """Some of them would make HDF5 loop forever or ask for terabytes, so its library must not see them."""
    path = tmp_path / "run.h5"
    save(path)
    data = bytearray(path.read_bytes())
    random = np.random.default_rng(11)
    for bit in [*range(0, 8 * 600, 7), *random.integers(0, 8 * len(data), 1000)]:
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            checkpoint.load(path)
        assert len(str(caught.value).splitlines()) == 1
        data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    assert checkpoint.load(path).frames_done == 4


def test_missing_other_kind_and_other_format(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        checkpoint.load(tmp_path / "none.h5")
    with pytest.raises(InputError, match="is a folder"):
        checkpoint.load(tmp_path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="not a Continua checkpoint"):
        checkpoint.load(tmp_path / "other.h5")
    save(tmp_path / "run.h5")
    data = (tmp_path / "run.h5").read_bytes()
    (tmp_path / "run.h5").write_bytes(data.replace(b"format 3", b"format 99", 1))
    with pytest.raises(InputError, match="format 99"):
        checkpoint.load(tmp_path / "run.h5")


def test_a_failing_save_keeps_the_older_checkpoint(tmp_path):
    path = tmp_path / "run.h5"
    save(path)
    before = path.read_bytes()

    class Broken:
        def state(self):
            return {"block/positions": np.zeros(3), "block/what": object()}

    with pytest.raises(TypeError):
        checkpoint.save(path, Broken(), "", frames_done=9, seconds=1.0, fps=1.0)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
