"""No package reads private attributes of another's objects."""

import ast
from collections import defaultdict
from pathlib import Path

import continua

ROOT = Path(continua.__file__).parent

OF_OTHERS = {
    ("world", "_getframe"): "sys._getframe: the frame of the caller, from which bodies take their names",
    ("errors", "_getframe"): "sys._getframe: a warning names the line of the user's program",
    ("pickling", "_getframe"): "sys._getframe: whether pickle or a copy asks for the state of an object",
    ("numerics", "_launch_threads"): "numba has no public way to choose its threading layer now",
    ("numerics", "_set_num_threads"): "the public function takes a lock that all forked processes share",
    ("numerics", "_backend_init_thread_lock"): "a lock that must be free when the process is forked",
    ("numerics", "_lock"): "llvmlite's lock, which must be free when the process is forked",
    ("numerics", "_insert"): "llvmlite's builder has no public way to insert an instruction",
    (
        "numerics",
        "_library_class",
    ): "numba's code generator has no public way to choose the kind of its libraries",
    ("numerics", "_rebuild"): "what numba's own cache calls to read compiled code",
    ("numerics", "_reduce"): "what numba's own cache calls to write compiled code",
    ("numerics", "_exit"): "os._exit: a process whose parent is gone ends without finishing what it compiles",
    ("numerics", "_get_module_for_linking"): "what numba's own libraries call to link others",
    ("numerics", "_reload_init"): "what numba's own libraries hand on when they are linked",
    ("numerics", "_values"): "the flags that are set, which numba compares slowly",
    ("numerics", "_cache"): "numba's dispatcher has no public way to set where compiled code is kept",
}
"""Private attributes of other libraries, and why they are read."""

INHERITED = {"solids": "deformable", "shells": "deformable", "springs": "deformable"}
"""Packages whose bodies derive from a class of another: they know the attributes that they inherit."""

NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
"""Names with an underscore that are public."""


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def names_defined(tree: ast.AST):
    """Return the attributes that classes of a module have, and the functions and classes of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr


def is_own(node: ast.Attribute) -> bool:
    """Return whether an attribute is one of self, cls or super()."""
    value = node.value
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def foreign_reads(trees: dict[Path, ast.AST]) -> list[str]:
    """Return all reads of private attributes that no class of the reader's own package has, and such imports."""
    defined = defaultdict(set)
    for path, tree in trees.items():
        defined[package_of(path)].update(names_defined(tree))
    for package, base in INHERITED.items():
        defined[package] |= defined[base]
    found = []
    for path, tree in trees.items():
        package = package_of(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node):
                if node.attr not in defined[package] and (package, node.attr) not in OF_OTHERS:
                    found.append(f"{path}:{node.lineno} reads {node.attr}")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("continua."):
                names = [alias.name for alias in node.names if is_private(alias.name)]
                if names and node.module.split(".")[1] != package:
                    found.append(f"{path}:{node.lineno} imports {', '.join(names)}")
    return found


def test_no_package_reads_private_attributes_of_another():
    trees = {path: ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}
    assert len(trees) > 100
    assert foreign_reads(trees) == []


def test_the_check_sees_reads_and_imports_of_another_package():
    """And it lets modules of one package know each other."""
    body = ast.parse(
        "class Body:\n    def __init__(self):\n        self._x = 1\n    def copy(self, o):\n        return o._x"
    )
    reader = ast.parse("def f(body):\n    return body._x + body.x")
    importer = ast.parse("from continua.solids.body import _helper")
    trees = {ROOT / "solids" / "body.py": body, ROOT / "solids" / "step.py": reader}
    assert foreign_reads(trees) == []
    assert len(foreign_reads(trees | {ROOT / "coupling" / "a.py": reader})) == 1
    assert len(foreign_reads(trees | {ROOT / "coupling" / "a.py": importer})) == 1
    assert foreign_reads(trees | {ROOT / "solids" / "a.py": importer}) == []
