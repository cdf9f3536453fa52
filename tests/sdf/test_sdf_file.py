"""Files of distance fields: the same bits come back, and nothing wrong gets in."""

import numpy as np
import pytest

import continua as ct
from continua.mesh import surfaces


@pytest.fixture(scope="module")
def ball():
    mesh = surfaces.sphere(1.0, 6)
    return mesh, ct.sdf.fit(mesh, tolerance=1e-4)


def test_a_field_comes_back_with_the_same_bits(ball, tmp_path):
    mesh, field = ball
    field.save(tmp_path / "ball.sdf")
    again = ct.sdf.load(tmp_path / "ball.sdf", mesh)
    for first, second in zip(field.table, again.table, strict=True):
        assert first.dtype == second.dtype
        assert np.array_equal(first, second)
    assert again.report == field.report
    assert again.source_hash == ct.sdf.mesh_hash(mesh)


def test_a_wrong_file_gets_a_sentence(ball, tmp_path):
    _, field = ball
    path = tmp_path / "ball.sdf"
    field.save(path)
    data = path.read_bytes()
    for name, content, message in (
        ("empty", b"", "not a distance field"),
        ("foreign", b"solid ball\n", "not a distance field"),
        ("short", data[: len(data) // 2], "damaged"),
        ("shorter", data[:14], "damaged"),
        ("flipped", data[:200] + bytes([data[200] ^ 1]) + data[201:], "damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(ct.InputError, match=message) as caught:
            ct.sdf.load(path)
        assert str(path) in str(caught.value), name
    with pytest.raises(ct.InputError, match="no such file"):
        ct.sdf.load(tmp_path / "nothing.sdf")
    with pytest.raises(ct.InputError, match="no such folder"):
        field.save(tmp_path / "no" / "ball.sdf")


def test_another_version_and_another_mesh_are_refused(ball, tmp_path):
    import zlib

    mesh, field = ball
    path = tmp_path / "ball.sdf"
    field.save(path)
    with pytest.raises(ct.InputError, match="another mesh"):
        ct.sdf.load(path, mesh.transformed(scale=2.0))
    data = bytearray(path.read_bytes()[:-4])
    data[12] = 9
    path.write_bytes(bytes(data) + zlib.crc32(bytes(data)).to_bytes(4, "little"))
    with pytest.raises(ct.InputError, match="version 9"):
        ct.sdf.load(path)
