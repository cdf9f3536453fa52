"""What the package knows of the kernels of scenes fits the scenes and the kernels."""

import importlib

import pytest

from continua.numerics.kernel import dispatchers
from continua.numerics.precompile import _object, decode_type
from continua.scene import load_scene, parse_scene, shipped_scenes
from continua.scene.kernel_plan import _plan, all_kernels, expected_kernels, features

RECORD = "run `python -m benchmarks.record_kernels`"


def test_every_shipped_scene_is_recorded_with_its_features():
    plan = _plan()
    assert set(plan.scenes) == set(shipped_scenes()), RECORD
    for name in shipped_scenes():
        assert plan.features[name] == features(load_scene(name)), f"{name}: {RECORD}"


def test_every_recorded_kernel_exists():
    for request in all_kernels():
        if request.factory:
            _object(request.factory[0])(*map(_object, request.factory[1:]))
        else:
            importlib.import_module(request.kernel.rpartition(".")[0])
        assert (request.kernel, request.parallel) in dispatchers, f"{request.kernel}: {RECORD}"
        arguments = dispatchers[request.kernel, request.parallel].py_func.__code__.co_argcount
        assert len(list(map(decode_type, request.types))) == arguments, f"{request.kernel}: {RECORD}"


def test_a_shipped_scene_has_the_kernels_that_it_called():
    plan = _plan()
    for name, indices in plan.scenes.items():
        assert expected_kernels(load_scene(name)) == [plan.kernels[index] for index in indices]


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("bodies: [{type: soft, name: a, mesh: {type: box, cells: [3, 3, 3]}}]", "continua.solids"),
        (
            "bodies: [{type: rigid, name: a, shape: {type: box}}, {type: rigid, name: b, shape: {type: sphere}}]\n"
            "colliders: [{type: plane}]",
            "continua.collision.rigid",
        ),
    ],
)
def test_other_scenes_are_expected_to_call_what_like_scenes_call(text, package):
    names = {request.kernel for request in expected_kernels(parse_scene(text))}
    assert any(name.startswith(package) for name in names)
    assert not any(name.startswith(("continua.sph", "continua.grid_fluids")) for name in names)


def test_requests_are_those_that_a_recording_gives():
    assert len(set(all_kernels())) == len(all_kernels())  # they can be keys
