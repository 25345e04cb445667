"""The house: imports point down the list of layers, and no file grows too large."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import construct

PACKAGE = Path(construct.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)
BELOW = {
    "cli": {
        "chat",
        "mcp",
        "views",
        "operations",
        "talk",
        "tools",
        "memory",
        "language",
        "llm",
        "store",
        "leaf",
    },
    "chat": {"views", "operations", "talk", "tools", "memory", "language", "llm", "store", "leaf"},
    "mcp": {"views", "operations", "leaf"},
    "views": {"operations", "talk", "tools", "memory", "language", "llm", "store", "leaf"},
    "operations": {"talk", "tools", "memory", "language", "llm", "store", "leaf"},
    "talk": {"tools", "memory", "language", "llm", "store", "leaf"},
    "tools": {"llm", "leaf"},
    "memory": {"language", "llm", "store", "leaf"},
    "language": {"leaf"},
    "llm": {"leaf"},
    "store": {"leaf"},
    "leaf": set[str](),
}
FOREIGN = {
    "typer": {"cli"},
    "rich": {"cli", "chat", "views"},
    "prompt_toolkit": {"chat"},
    "jinja2": {"views"},
    "markupsafe": {"views"},
    "anthropic": {"llm"},
    "openai": {"llm"},
    "httpx2": {"llm", "tools"},
    "xllamacpp": {"llm"},
    "onnxruntime": {"llm"},
    "sqlite_utils": {"store"},
    "ijson": {"store"},
    "PIL": {"leaf"},
    "mcp": {"mcp", "tools"},
    "mcp_types": {"mcp", "tools"},
    "starlette": {"mcp"},
    "uvicorn": {"mcp"},
}
ROOMS = (
    "policy agenda shown learning graph recall config promotion forgetting corrections undo cycles"
).split()
"""Of the memory, the lowest first.

What stands beside them is its front: it uses them all, and they nothing of it.
"""
NOT_FOR = {("store", "prompts")}
"""A leaf that is not for everyone: the store knows no prompts."""


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """Return the layer a module of ours belongs to."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else ""
    if name == "__main__":
        return "cli"
    return name if name in BELOW else "leaf"


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the modules a file imports, with their lines.

    Imports inside functions and for type checking count too.
    """
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *filter(None, [base])])
            yield base, node.lineno
            for alias in node.names:
                name = f"{base}.{alias.name}"
                if (
                    base.startswith("construct")
                    and (PACKAGE.parent / f"{name.replace('.', '/')}.py").exists()
                ):
                    yield name, node.lineno


def wrong_imports(path: Path) -> Iterator[str]:
    """Yield the imports that a file's layer does not allow.

    They are from above, from beside, or from a library that belongs to another layer.
    """
    here = layer_of(module_of(path))
    for name, number in imports(path):
        top = name.split(".")[0]
        if top == "construct":
            there = layer_of(name)
            allowed = (
                there in BELOW[here] | {here} and (here, name.rpartition(".")[2]) not in NOT_FOR
            )
        else:
            allowed = here in FOREIGN.get(top, {here})
        if not allowed and name != "construct":
            yield f"{path.relative_to(PACKAGE.parent)}:{number} ({here}) imports {name}"


def test_imports_point_down() -> None:
    """Each file imports from its own layer and from those that BELOW names for it."""
    assert [wrong for path in FILES for wrong in wrong_imports(path)] == []


def test_no_two_files_import_each_other() -> None:
    """What two files need of each other stands in a third, for type checking too."""
    modules = {module_of(path): path for path in FILES}
    imported = {
        module: {name for name, _ in imports(path) if name in modules and name != module}
        for module, path in modules.items()
    }
    pairs = {
        (one, other)
        for one, names in imported.items()
        for other in names
        if one < other and one in imported[other]
    }
    assert pairs == set()


def test_one_module_hands_out_the_sqlite_driver() -> None:
    """No module but `store/driver.py` imports one, so that each knows encrypted files."""
    assert {
        module_of(path)
        for path in FILES
        for name, _ in imports(path)
        if name.split(".")[0] in {"sqlite3", "sqlcipher3", "apsw", "pysqlite3"}
    } == {"construct.store.driver"}


def room_of(module: str) -> int:
    """Return how high a module of the memory stands; its front is the highest."""
    parts = module.split(".")
    return ROOMS.index(parts[2]) if len(parts) > 2 and parts[2] in ROOMS else len(ROOMS)


def test_rooms_of_the_memory_stand_on_each_other() -> None:
    """A room imports from itself and from those below it."""
    memory = {module_of(path): path for path in FILES if layer_of(module_of(path)) == "memory"}
    assert len(memory) > len(ROOMS)
    assert [
        f"{here} imports {name}"
        for here, path in memory.items()
        for name, _ in imports(path)
        if name.startswith("construct.memory.") and room_of(name) > room_of(here)
    ] == []


def test_files_are_small() -> None:
    """No file of the package has more than 500 lines."""
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in FILES
    }
    assert {name: size for name, size in sizes.items() if size > 500} == {}


def test_leaves_import_none_of_ours_but_leaves() -> None:
    """The leaves import no module of ours, but for errors, which name commands."""
    for name in ("text", "clock", "prompts", "tokens", "program"):
        assert [n for n, _ in imports(PACKAGE / f"{name}.py") if n.startswith("construct")] == []
    assert {n for n, _ in imports(PACKAGE / "errors.py") if n.startswith("construct")} == {
        "construct.program"
    }


@pytest.mark.parametrize(
    ("path", "code", "wrong"),
    [
        ("store/x.py", "from construct.prompts import prompt", True),
        ("store/x.py", "from construct import prompts", True),
        ("store/x.py", "def f():\n    import construct.llm.types", True),
        ("llm/x.py", "from ..store import messages", True),
        ("memory/x.py", "from construct.chat import app", True),
        ("memory/x.py", "import rich.text", True),
        ("memory/x.py", "from construct.talk.companion import Companion", True),
        ("chat/x.py", "import typer", True),
        ("views/x.py", "from construct.cli import app", True),
        ("views/x.py", "from construct.chat import app", True),
        ("operations/x.py", "import sqlite3\nfrom construct.cli import app", True),
        ("talk/x.py", "from construct.operations import memory", True),
        ("text.py", "from construct.store import messages", True),
        ("cli/x.py", "import typer\nfrom construct.chat import app", False),
        (
            "memory/x.py",
            "from construct.store import messages\nfrom construct.llm.types import Text",
            False,
        ),
        ("llm/x.py", "from construct.prompts import shipped\nimport anthropic", False),
        ("store/x.py", "from . import talk\nfrom ..text import storable", False),
    ],
)
def test_the_test_sees_wrong_imports(
    path: str, code: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What must not be is seen in every form of import, also inside a function."""
    package = tmp_path / "construct"
    for name in ("store/messages.py", "prompts.py", "text.py", "chat/app.py", "cli/app.py", path):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    (package / path).write_text(code)
    monkeypatch.setattr("tests.test_layers.PACKAGE", package)
    assert bool(list(wrong_imports(package / path))) is wrong
