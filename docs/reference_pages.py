# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The generated pages: reference of the library, the interfaces, the parameters and the commands.

Sphinx calls `write_pages` before it reads its sources (docs/conf.py) and `check_complete` when it has read them. What
is written comes from the code alone, so that a page cannot lag behind it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import recorded_pages
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

PACKAGES = ("superovoid", "superovoid_ros", "superovoid_papers")
DOCS = Path(__file__).resolve().parent
FIRST = (
    "two_bodies",
    "exponents",
    "taper",
    "all_shapes",
    "through_contact",
    "certificates",
    "robot_from_urdf",
    "a_hand",
)
"""Examples at the head of the gallery, in this order; the others follow by name."""


def setup(app: Sphinx) -> None:
    """Let Sphinx call what is here."""
    (Path(app.srcdir) / "generated" / recorded_pages.FOLDER).mkdir(parents=True, exist_ok=True)  # html_extra_path
    # Before sphinx-gallery, which listens at 500.
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "generated"), priority=400)
    app.connect("env-check-consistency", check_complete)
    app.connect("autodoc-process-signature", lambda *args: plain_aliases(*args[-2:]))
    kept: dict[str, list[str]] = {}
    # Around napoleon, which listens at 500.
    app.connect("autodoc-process-docstring", lambda *args: keep_text(kept, *args[1:3], args[-1]), priority=400)
    app.connect("autodoc-process-docstring", lambda *args: put_back_text(kept, *args[1:3], args[-1]), priority=600)


def plain_aliases(signature: str | None, returned: str | None) -> tuple[str | None, str | None]:
    """Write aliases of types by their names, where Sphinx shows the object that stands for one."""
    texts = [text and re.sub(r"\w*ForwardRef\('(\w+)'[^)]*\)", r"\1", text) for text in (signature, returned)]
    return texts[0], texts[1]


def keep_text(kept: dict[str, list[str]], what: str, name: str, lines: list[str]) -> None:
    """Escape the bars of absolute values, and keep the text of an attribute."""
    in_formula = False
    for number, line in enumerate(lines):
        if line.strip():  # a formula ends at the first line that is indented at most as its directive
            in_formula = line.lstrip().startswith(".. math::") or (in_formula and line.startswith(" "))
        if not in_formula and "`" not in line and ">>>" not in line:
            lines[number] = line.replace("|", r"\|")
    if what in ("attribute", "property") and lines and lines[0].startswith("Alias for field number"):
        lines[:] = []  # of a NamedTuple's field that its class describes
    if what in ("attribute", "data", "property"):
        kept[name] = list(lines)


def put_back_text(kept: dict[str, list[str]], what: str, name: str, lines: list[str]) -> None:
    """Put an attribute's text back: napoleon takes what stands before a colon in it for a type."""
    if what in ("attribute", "data", "property"):
        lines[:] = kept.pop(name)


def root() -> Path:
    """Return the repository's root."""
    from superovoid_ros.resources import share_directory

    for folder in (DOCS.parent, share_directory()):
        if (folder / "superovoid_interfaces").is_dir():
            return folder
    raise ExtensionError(
        "the repository with superovoid_interfaces/ and examples/ is neither around docs/ nor imported"
    )


def write_pages(folder: Path) -> None:
    """Write all generated pages."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = {
        **library_pages(),
        "interfaces.md": interfaces_page(root() / "superovoid_interfaces"),
        "parameters.md": parameters_page(),
        "commands.md": commands_page(),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    recorded_pages.write(folder)
    (folder / "examples").mkdir()
    if importlib.util.find_spec("sphinx_gallery") is None:
        (folder / "examples" / "index.rst").write_text(NO_GALLERY, encoding="utf-8")


def check_complete(app: Sphinx, environment: BuildEnvironment) -> None:
    """Fail where a public name is in no page."""
    found = environment.domaindata["py"]["objects"]
    missing = [f"{module.__name__}.{name}" for module in public_modules() for name in module.__all__]
    missing = [
        name for name in missing if name not in found and f"{PACKAGES[0]}.{name.rpartition('.')[2]}" not in found
    ]
    if missing:
        raise ExtensionError(f"in no page of the reference: {', '.join(missing)}")


# -- library -----------------------------------------------------------------------------------------------------------


def public_modules() -> list[ModuleType]:
    """Return the modules that have `__all__`, the library itself first."""
    names = []
    for package in PACKAGES:
        folders = importlib.import_module(package).__path__
        names += [package, *(found.name for found in pkgutil.walk_packages(folders, f"{package}."))]
    return [importlib.import_module(name) for name in names if declares_names(name)]


def declares_names(name: str) -> bool:
    """Return whether a module has `__all__`, without importing it: its dependencies may be missing."""
    package, *inner = name.split(".")
    path = Path(importlib.import_module(package).__path__[0]).joinpath(*inner)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return any(
        isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def library_pages() -> dict[str, str]:
    """Return the pages of the library: an index and one for each public module."""
    modules = public_modules()
    top = modules[0]
    public = {id(getattr(module, name)) for module in modules for name in module.__all__}
    pages = {}
    for module in modules:
        own = [name for name in module.__all__ if module is top or name not in top.__all__]
        shared = [name for name in module.__all__ if name not in own]
        text = heading(module.__name__, "=") + module_text(module)
        if shared:
            links = ", ".join(f":py:obj:`~{PACKAGES[0]}.{name}`" for name in shared)
            text += f"Also imported from here: {links}.\n\n"
        text += "".join(directive(module, name) for name in own)
        text += results_text(module, own, public)
        pages[f"{module.__name__}.rst"] = text
    lines = "".join(f"* :doc:`{module.__name__}`: {inspect.getdoc(module).splitlines()[0]}\n" for module in modules)
    entries = "".join(f"   {module.__name__}\n" for module in modules)
    pages["library.rst"] = f"{heading('Library', '=')}{lines}\n.. toctree::\n   :hidden:\n\n{entries}"
    return pages


def results_text(module: ModuleType, names: list[str], public: set[int]) -> str:
    """Return the section about the classes that public names of a module return, but which are not public."""
    found: list[type] = []
    waiting = [getattr(module, name) for name in names]
    while waiting:
        for kind in returned_classes(waiting.pop(0)):
            if id(kind) not in public and kind not in found:
                found.append(kind)
                waiting.append(kind)
    found = [kind for kind in found if kind.__module__.startswith(module.__name__)]
    parts = (directive(importlib.import_module(kind.__module__), kind.__name__) for kind in found)
    return f"{heading('What these return', '-')}{''.join(parts)}" if found else ""


def returned_classes(thing: object) -> Iterator[type]:
    """Yield the classes of this repository in the types that a function, or the methods of a class, return."""
    routines = vars(thing).values() if inspect.isclass(thing) else [thing]
    for routine in routines:
        function = getattr(routine, "fget", None) or getattr(routine, "__func__", routine)
        if inspect.isfunction(function) and not function.__name__.startswith("_"):
            for name in re.findall(r"\b[A-Z]\w+", str(function.__annotations__.get("return", ""))):
                kind = function.__globals__.get(name)
                if inspect.isclass(kind) and kind.__module__.partition(".")[0] in PACKAGES:
                    yield kind


def heading(text: str, underline: str) -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{underline * len(text)}\n\n"


def module_text(module: ModuleType) -> str:
    """Return a module's docstring, its indented paragraphs as code."""
    paragraphs = inspect.getdoc(module).split("\n\n")
    text = ""
    for number, paragraph in enumerate(paragraphs):
        is_code = paragraph.startswith("    ") or paragraph.startswith(("with ", "from "))
        if is_code and not (number and text.endswith("..code\n\n")):
            body = inspect.cleandoc(paragraph) if paragraph.startswith("    ") else paragraph
            text += ".. code-block:: python\n\n" + "".join(f"   {line}\n" for line in body.splitlines()) + "\n"
        else:
            text += f"{paragraph}\n\n"
    return text


def directive(module: ModuleType, name: str) -> str:
    """Return the reStructuredText that documents a public name."""
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        members = "   :members:\n   :show-inheritance:\n"
        return f".. autoclass:: {full}\n{members}{documented_fields(thing)}\n"
    if callable(thing):
        return f".. autofunction:: {full}\n\n"
    value = " ".join(repr(thing).split())
    value = f"   :value: {value}\n" if len(value) < 100 else ""
    text = constant_text(module, name).replace("\n", "\n   ")
    return f".. py:data:: {full}\n{value}\n   {text}\n\n"


def documented_fields(thing: type) -> str:
    """Include fields without a docstring if the class is a dataclass: their names and types are informative."""
    return "   :undoc-members:\n" if hasattr(thing, "__dataclass_fields__") else ""


def constant_text(module: ModuleType, name: str) -> str:
    """Return the docstring below a constant where it is assigned."""
    tree = ast.parse(inspect.getsource(module)).body
    for node in tree:
        if isinstance(node, ast.ImportFrom) and name in (alias.name for alias in node.names):
            return constant_text(importlib.import_module(node.module), name)
    for node, after in zip(tree, [*tree[1:], None], strict=True):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names = [each.id for target in targets for each in ast.walk(target or ast.Pass()) if isinstance(each, ast.Name)]
        if name in names and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return inspect.cleandoc(after.value.value)
    return ""


# -- interfaces, parameters, commands ----------------------------------------------------------------------------------


def interfaces_page(folder: Path) -> str:
    """Return the page of messages and services: each file's first comment as text, then its definition."""
    text = "# Messages and services\n\nOf the package `superovoid_interfaces`, as its files define them.\n\n"
    for title, pattern in (("Messages", "msg/*.msg"), ("Services", "srv/*.srv")):
        text += f"## {title}\n\n"
        for path in sorted(folder.glob(pattern)):
            words, definition = interface_parts(path.read_text(encoding="utf-8"))
            text += f"### {path.stem}\n\n{words}\n\n"
            for part, lines in definition.items():
                text += f"{part}:\n\n" if part else ""
                text += f"```text\n{lines or '# (nothing)'}\n```\n\n"
    return text


def interface_parts(source: str) -> tuple[str, dict[str, str]]:
    """Split a .msg or .srv file into its first comment, as text, and the definition by its parts."""
    lines = source.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    words = "\n".join(line[1:].strip() for line in lines[:end])
    words = private_names_as_code(words)
    parts = [part.strip("\n") for part in "\n".join(lines[end:]).split("\n---")]
    if len(parts) == 1:
        return words, {"": parts[0]}
    return words, dict(zip(("Request", "Response"), parts, strict=True))


def private_names_as_code(text: str) -> str:
    """Set names like `~/distances` as code: a tilde is more than a letter to Markdown."""
    return re.sub(r"(?<!`)~/\w+(?:/\w+)*", r"`\g<0>`", text)


def parameters_page() -> str:
    """Return the page of parameters, from a run of docs/declared_parameters.py."""
    run = subprocess.run(
        [sys.executable, str(DOCS / "declared_parameters.py")], stdout=subprocess.PIPE, text=True, check=True
    )
    text = (
        "# Parameters\n\nAs the nodes declare them; `ros2 param describe NODE NAME` says the same of a running node. "
        "`(share)` is the folder of the installed package, `ros2 pkg prefix --share superovoid_ros`.\n\n"
    )
    for node, parameters in json.loads(run.stdout).items():
        text += f"## {node}\n\n| name | default | values | what it is |\n|---|---|---|---|\n"
        for name, one in parameters.items():
            words = one["description"] or "of every node: take the time from /clock" * (name == "use_sim_time")
            cells = (f"`{name}`", f"`{one['default']}`", one["constraints"], words)
            text += "| " + " | ".join(private_names_as_code(cell.replace("|", "\\|")) for cell in cells) + " |\n"
        text += "\n"
    return text


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command of `superovoid` and its parser, subcommands after what they belong to."""
    from superovoid.cli.command_line import parser

    def commands_of(name: str, one: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        yield name, one
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, child in action.choices.items():
                    yield from commands_of(f"{name} {word}", child)

    yield from commands_of("superovoid", parser())


def commands_page() -> str:
    """Return the page of commands: the help of each."""
    text = "# Commands\n\nWhat `--help` prints.\n\n"
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"  # which argparse looks at
    try:
        for name, one in commands():
            text += f"## {name}\n\n```text\n{one.format_help().strip()}\n```\n\n"
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return text


# -- examples ----------------------------------------------------------------------------------------------------------


def example_order(file: str) -> tuple[int, str]:
    """Return the key by which sphinx-gallery sorts the examples."""
    name = Path(file).stem
    return (FIRST.index(name) if name in FIRST else len(FIRST)), name


NO_GALLERY = """Examples
========

This site was built without `sphinx-gallery`. The scripts are in the folder `examples/` of the repository.
"""
