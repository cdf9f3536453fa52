"""Warming up leaves nothing to compile."""

import pytest

from continua.cli.warmup import warm_up


def test_a_second_warm_up_compiles_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    scenes = ["torsion-orders", "bridge"]
    warm_up(scenes, jobs=2)
    first = capfd.readouterr()
    assert all(f"'{name}'" in first.err for name in scenes)
    warm_up(scenes, jobs=1)
    assert capfd.readouterr().out.startswith("all kernels were compiled already")
