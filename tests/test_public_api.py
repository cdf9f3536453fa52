"""The whole public API refuses what cannot be, with one sentence, and nothing is half-changed."""

import warnings
from types import GeneratorType, ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import continua as ct
from continua.errors import ContinuaError
from tests.api_walk import WRONG, Subject, made, subjects

SUBJECTS = {subject.label: subject for subject in subjects()}
WALKED = sorted(label for label, subject in SUBJECTS.items() if subject.parameters)

# Their examples are refused: a file that is not there, a solver for elements of another order, ...
REFUSED_EXAMPLES = {
    "AutoSolver",
    "BlockMatrix.assemble",
    "Cloth.settle",
    "Fabric.energy",
    "Fabric.stress",
    "Fabric.tangent",
    "MeshAnimation.read",
    "MeshShape.bounds",
    "PMultigrid.solve",
    "PMultigrid.update",
    "RigidBody.pose_at",
    "RigidInstances.pose_at",
    "SoftBody.apply_topology_change",
    "SoftBody.set_plasticity",
    "Shell.settle",
    "SoftBody.settle",
    "SurfaceMesh.textured",
    "Texture.from_bytes",
    "Texture.read",
    "World.load",
    "World.settle",
    "load",
    "read",
    "read_voxels",
}

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
)
NESTED = st.recursive(
    LEAVES,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=2), part, max_size=2),
    max_leaves=6,
)


def fingerprint(thing: Any, seen: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """Return something that changes when the state of an object does; what is computed on demand is left out."""
    seen = {} if seen is None else seen
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.dtype.str, thing.tobytes() if thing.dtype.kind != "O" else None
    if isinstance(thing, (str, bytes, int, float, complex, bool, type(None))):
        return repr(thing)
    if isinstance(thing, (type, ModuleType)) or callable(thing) or id(thing) in seen or depth > 6:
        return type(thing).__name__
    seen[id(thing)] = thing
    if isinstance(thing, dict):
        return {str(key): fingerprint(value, seen, depth + 1) for key, value in thing.items()}
    if isinstance(thing, (list, tuple, set, frozenset)):
        return [fingerprint(value, seen, depth + 1) for value in thing]
    if type(thing).__module__.startswith("continua"):
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        inner = dict(getattr(thing, "__dict__", {})) | {
            n: getattr(thing, n) for n in slots if hasattr(thing, n)
        }
        return {key: fingerprint(value, seen, depth + 1) for key, value in inner.items() if key not in CACHES}
    return type(thing).__name__


CACHES = {"_stopwatch", "_own_shapes"}  # measured times, and drawings of shapes


def changes(before: Any, after: Any) -> bool:
    """Return whether something that was there before is different now."""
    if isinstance(before, dict) and isinstance(after, dict):
        return any(key not in after or changes(value, after[key]) for key, value in before.items())
    return bool(before != after)


def call(subject: Subject, target: Any, arguments: dict[str, Any]) -> None:
    result = subject.call(target, arguments)
    if isinstance(result, GeneratorType):
        next(result, None)


def refusal(subject: Subject, target: Any, arguments: dict[str, Any]) -> str | None:
    """Return the message with which a call is refused, or None; what is not ours comes out."""
    try:
        call(subject, target, arguments)
    except ContinuaError as error:
        return str(error)
    return None


@pytest.fixture(autouse=True)
def _aside(tmp_path, monkeypatch):
    """Files that are written in passing go to a folder of their own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("label", WALKED)
def test_wrong_arguments_are_refused_with_one_sentence_and_nothing_changes(label):
    subject = SUBJECTS[label]
    held: list[Any] = []

    @settings(
        max_examples=12 * len(subject.parameters) + 8,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        name=st.sampled_from(subject.parameters), wrong=st.sampled_from(sorted(WRONG)), own=st.none() | NESTED
    )
    def walk(name, wrong, own):
        if not held:
            held.append(subject.make())
        target = held[0]
        arguments = subject.right(target)
        arguments[name] = WRONG[wrong]() if own is None else own
        before = fingerprint(target)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=UserWarning)  # our own
            message = refusal(subject, target, arguments)
        if message is None:
            held.clear()  # it was accepted
        else:
            assert len(message) < 500
            assert "\n" not in message
            assert not changes(before, fingerprint(target)), f"{label} was refused and changed something"

    walk()
    if label not in REFUSED_EXAMPLES:
        target = held[0] if held else subject.make()
        call(subject, target, subject.right(target))


def test_every_class_of_the_public_api_has_an_example():
    for label in SUBJECTS:
        kind = getattr(ct, label.split(".")[0], None)
        if isinstance(kind, type):
            assert isinstance(made(kind), object)
