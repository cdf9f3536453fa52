"""What moves the points of a glTF file: nodes on keyed transforms, skins and morph targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.mesh.keyframes import Interpolation, Values, interpolate, quaternion_matrix

__all__ = ["GltfChannel", "GltfNode", "GltfPart", "GltfRig", "GltfSkin"]


@dataclass(frozen=True, eq=False)
class GltfNode:
    """A node of the scene.

    Attributes:
        parent: Number of its parent, or -1.
        matrix: Its matrix [4, 4] if it is given as such, else None.
        translation: Shift [m], shape [3].
        rotation: Rotation as a quaternion (x, y, z, w).
        scale: Factors along its axes, shape [3].
        weights: Weights of the morph targets of its mesh, shape [k].
    """

    parent: int
    matrix: Values | None
    translation: Values
    rotation: Values
    scale: Values
    weights: Values


@dataclass(frozen=True, eq=False)
class GltfChannel:
    """Keys of one quantity of a node; see `keyframes.interpolate`."""

    node: int
    path: str
    times: Values
    values: Values
    kind: Interpolation


@dataclass(frozen=True, eq=False)
class GltfSkin:
    """The joints of a skin, as numbers of nodes, and their inverse bind matrices [j, 4, 4]."""

    joints: NDArray[np.int64]
    inverse_bind: Values


@dataclass(frozen=True, eq=False)
class GltfPart:
    """Some points of a mesh.

    Attributes:
        node: The node that places them, or -1 for the origin.
        rest: Positions without morph targets [m], shape [n, 3].
        morphs: Displacements of the morph targets [m], shape [k, n, 3].
        skin: Number of the skin, or -1.
        joints: Joints of each point, as numbers in the skin, shape [n, j].
        weights: Their weights, sum 1, shape [n, j].
    """

    node: int
    rest: Values
    morphs: Values
    skin: int = -1
    joints: NDArray[np.int64] | None = None
    weights: Values | None = None


_Moving = tuple[Values, Values]  # a value and its rate


class GltfRig:
    """Nodes, skins and morph targets of a file, and one animation of them.

    Args:
        nodes: The nodes; parents may follow their children.
        skins: The skins.
        parts: The points.
        channels: The animation; empty is the rest pose.
    """

    def __init__(
        self,
        nodes: Sequence[GltfNode],
        skins: Sequence[GltfSkin],
        parts: Sequence[GltfPart],
        channels: Sequence[GltfChannel] = (),
    ) -> None:
        self.nodes, self.skins, self.parts = tuple(nodes), tuple(skins), tuple(parts)
        self.channels = {(channel.node, channel.path): channel for channel in channels}
        self._order = self._parents_first()

    @property
    def times(self) -> Values:
        """All times of keys [s], sorted."""
        return np.unique(np.concatenate([np.zeros(0), *(c.times for c in self.channels.values())]))

    def _parents_first(self) -> list[int]:
        children: list[list[int]] = [[] for _ in range(len(self.nodes) + 1)]
        for number, node in enumerate(self.nodes):
            children[node.parent].append(number)  # those without a parent are in the last list
        order = list(children[-1])
        for number in order:
            order.extend(children[number])
        return order

    def at(self, time: float) -> _Moving:
        """Return positions [m] and velocities [m/s] of all points at `time` [s] of the animation, shape [n, 3] each."""
        globals_ = self._global_matrices(time)
        skins = [self._joint_matrices(skin, globals_) for skin in self.skins]
        points, rates = [], []
        for part in self.parts:
            x, v = part.rest, np.zeros_like(part.rest)
            if len(part.morphs):
                amount, change = self._value(part.node, "weights", time)
                used = np.flatnonzero(
                    (amount != 0.0) | (change != 0.0)
                )  # few, if there is a target for each frame
                x = x + np.einsum("k,kni->ni", amount[used], part.morphs[used])
                v = np.einsum("k,kni->ni", change[used], part.morphs[used])
            if part.skin >= 0:
                assert part.joints is not None
                assert part.weights is not None
                matrix, turn = skins[part.skin]
                own = np.einsum("nj,njab->nab", part.weights, matrix[part.joints])
                own_rate = np.einsum("nj,njab->nab", part.weights, turn[part.joints])
                points.append(np.einsum("nab,nb->na", own[:, :3, :3], x) + own[:, :3, 3])
                rates.append(
                    np.einsum("nab,nb->na", own_rate[:, :3, :3], x)
                    + own_rate[:, :3, 3]
                    + np.einsum("nab,nb->na", own[:, :3, :3], v)
                )
                continue
            matrix, turn = globals_[part.node] if part.node >= 0 else (np.eye(4), np.zeros((4, 4)))
            points.append(x @ matrix[:3, :3].T + matrix[:3, 3])
            rates.append(x @ turn[:3, :3].T + turn[:3, 3] + v @ matrix[:3, :3].T)
        return np.concatenate(points), np.concatenate(rates)

    def mirrors(self) -> NDArray[np.bool_]:
        """Return which nodes mirror what they place in the rest pose, which turns triangles inside out."""
        matrices = [np.linalg.det(matrix[:3, :3]) for matrix, _ in self._global_matrices(0.0)]
        return np.array(matrices) < 0.0

    def _value(self, node: int, path: str, time: float) -> _Moving:
        channel = self.channels.get((node, path))
        if channel is not None:
            return interpolate(channel.times, channel.values, channel.kind, time, rotation=path == "rotation")
        value = np.asarray(getattr(self.nodes[node], path))
        return value, np.zeros_like(value)

    def _global_matrices(self, time: float) -> list[_Moving]:
        """Return the matrix of each node in the scene, and its rate [1/s]."""
        found: list[_Moving] = [(np.eye(4), np.zeros((4, 4)))] * len(self.nodes)
        for number in self._order:
            matrix, rate = self._local_matrix(number, time)
            parent = self.nodes[number].parent
            if parent >= 0:
                above, above_rate = found[parent]
                matrix, rate = above @ matrix, above_rate @ matrix + above @ rate
            found[number] = matrix, rate
        return found

    def _local_matrix(self, number: int, time: float) -> _Moving:
        node, rate = self.nodes[number], np.zeros((4, 4))
        if node.matrix is not None:
            return node.matrix, rate
        matrix = np.eye(4)
        turn, turn_rate = quaternion_matrix(*self._value(number, "rotation", time))
        scale, scale_rate = self._value(number, "scale", time)
        matrix[:3, 3], rate[:3, 3] = self._value(number, "translation", time)
        matrix[:3, :3] = turn * scale
        rate[:3, :3] = turn_rate * scale + turn * scale_rate
        return matrix, rate

    @staticmethod
    def _joint_matrices(skin: GltfSkin, globals_: Sequence[_Moving]) -> _Moving:
        """Return what each joint does to a point of the bind pose, and its rate, shape [j, 4, 4] each."""
        matrices = np.stack([globals_[joint][0] for joint in skin.joints])
        rates = np.stack([globals_[joint][1] for joint in skin.joints])
        return matrices @ skin.inverse_bind, rates @ skin.inverse_bind
