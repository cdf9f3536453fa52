"""Mutations of the shipped scenes; `python -m validation.scene_fuzz` tries 5,000."""

import pytest

from validation.scene_fuzz import mutated, trial

GROUPS = 20
SIZE = 15


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_mutated_scene_is_built_or_refused(group):
    outcomes = {seed: trial(seed) for seed in range(group * SIZE, (group + 1) * SIZE)}
    assert not {seed: outcome.text for seed, outcome in outcomes.items() if outcome.kind == "failed"}


def test_a_seed_gives_the_same_scene_each_time():
    assert [mutated(seed) for seed in range(20)] == [mutated(seed) for seed in range(20)]
