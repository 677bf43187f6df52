"""The public names: what the doors of the rooms say, without importing any room.

Nothing here needs Sphinx, so that tests can read it.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

# In the order in which a reader meets them. A name that several doors give away is documented
# under the first.
ORDER = (
    *("sklofi", "sklofi.graphs", "sklofi.kernels", "sklofi.baselines", "sklofi.inspection"),
    *("sklofi.comparison", "sklofi.datasets", "sklofi.training", "sklofi.nn", "sklofi.egonets"),
    *("sklofi.cluster", "sklofi.testing"),
)
PACKAGE = Path(find_spec("sklofi").origin).parent


def stub_names(path: Path) -> list[str]:
    """The names that a stub gives away, in its order."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def listed_names(path: Path) -> list[str]:
    """The names in `__all__` of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return list(ast.literal_eval(next(values)))


def public_names() -> dict[str, list[str]]:
    """Of each public module its public names; the package itself comes first."""
    names = {"sklofi": stub_names(PACKAGE / "__init__.pyi")}
    rooms = {path.parent.name: stub_names(path) for path in PACKAGE.glob("*/__init__.pyi")}
    files = [room for room in names["sklofi"] if (PACKAGE / f"{room}.py").exists()]
    rooms |= {room: listed_names(PACKAGE / f"{room}.py") for room in files}
    names["sklofi"] = [name for name in names["sklofi"] if name not in rooms]
    names |= {f"sklofi.{room}": rooms[room] for room in rooms}
    modules = sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    return {module: names[module] for module in modules}


def homes() -> dict[str, str]:
    """Of each public name the module under which it is documented: the first that has it."""
    found: dict[str, str] = {}
    for module, names in public_names().items():
        for name in names:
            found.setdefault(name, module)
    return found
