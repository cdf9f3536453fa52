"""Small animated GLB files for tests, written with the container of our own writer."""

import numpy as np

from continua.output.glb_document import FLOAT, Document, glb_bytes

UNSIGNED_SHORT = 5123


class AnimatedGlb:
    """Collects nodes, a mesh, skins and the channels of one animation."""

    def __init__(self):
        self.document = Document()
        self.about = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": []}],
            "nodes": [],
            "meshes": [],
            "skins": [],
            "animations": [{"name": "move", "channels": [], "samplers": []}],
        }

    def floats(self, values, kind):
        return self.document.add(np.asarray(values, "<f4"), FLOAT, kind)

    def mesh(self, points, triangles, targets=(), joints=None, weights=None, **more):
        attributes = {"POSITION": self.floats(points, "VEC3")}
        if joints is not None:
            attributes["JOINTS_0"] = self.document.add(np.asarray(joints, "<u2"), UNSIGNED_SHORT, "VEC4")
            attributes["WEIGHTS_0"] = self.floats(weights, "VEC4")
        part = {
            "attributes": attributes,
            "indices": self.document.add(np.asarray(triangles, "<u2").ravel(), UNSIGNED_SHORT, "SCALAR"),
        }
        if len(targets):
            part["targets"] = [{"POSITION": self.floats(target, "VEC3")} for target in targets]
        self.about["meshes"].append({"primitives": [part], **more})
        return len(self.about["meshes"]) - 1

    def node(self, *, root=True, **about):
        self.about["nodes"].append(about)
        number = len(self.about["nodes"]) - 1
        if root:
            self.about["scenes"][0]["nodes"].append(number)
        return number

    def skin(self, joints, inverse_bind):
        columns = np.asarray(inverse_bind).transpose(0, 2, 1).reshape(-1, 16)
        self.about["skins"].append(
            {"joints": list(joints), "inverseBindMatrices": self.floats(columns, "MAT4")}
        )
        return len(self.about["skins"]) - 1

    def channel(self, node, path, times, values, interpolation="LINEAR"):
        kind = {"rotation": "VEC4", "weights": "SCALAR"}.get(path, "VEC3")
        values = np.asarray(values, float)
        rows = values.ravel() if path == "weights" else values.reshape(-1, values.shape[-1])
        animation = self.about["animations"][0]
        animation["samplers"].append(
            {
                "input": self.floats(times, "SCALAR"),
                "output": self.floats(rows, kind),
                "interpolation": interpolation,
            }
        )
        animation["channels"].append(
            {"sampler": len(animation["samplers"]) - 1, "target": {"node": node, "path": path}}
        )

    def write(self, path):
        about = {
            **self.about,
            "buffers": [{"byteLength": self.document.size}],
            "bufferViews": self.document.views,
            "accessors": self.document.accessors,
        }
        if not about["skins"]:
            del about["skins"]
        path.write_bytes(glb_bytes(about, self.document.chunks))
        return path
