# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The generated reference of docs/ contains everything public."""

import ast
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import reference_pages  # noqa: E402  docs/ is no package


@pytest.mark.ci
def test_pages_document_every_name_in_all():
    pages = "".join(reference_pages.library_pages().values())
    documented = set(re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: (\S+)$", pages, re.M))
    folders = {name: ROOT if name == "superovoid_ros" else ROOT / name for name in reference_pages.PACKAGES}
    sources = ((folder, path) for name, folder in folders.items() for path in (folder / name).rglob("*.py"))
    for around, path in sources:
        module = ".".join(path.relative_to(around).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                for name in ast.literal_eval(node.value):
                    assert {f"{module}.{name}", f"superovoid.{name}"} & documented, f"{module}.{name}"


@pytest.mark.slow
def test_a_build_without_a_public_name_fails():
    names = {f"{module.__name__}.{name}" for module in reference_pages.public_modules() for name in module.__all__}
    environment = SimpleNamespace(domaindata={"py": {"objects": names}})
    reference_pages.check_complete(None, environment)
    names.remove("superovoid.distances")
    names.remove("superovoid.contact.distances")
    with pytest.raises(reference_pages.ExtensionError, match=r"superovoid\.distances"):
        reference_pages.check_complete(None, environment)


def test_every_field_of_every_interface_is_in_its_section():
    pytest.importorskip("superovoid_interfaces")
    import superovoid_interfaces.msg
    import superovoid_interfaces.srv

    page = reference_pages.interfaces_page(ROOT / "superovoid_interfaces")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.M | re.S))
    parts = {name: [kind] for name, kind in vars(superovoid_interfaces.msg).items() if name[0].isupper()}
    for name, kind in vars(superovoid_interfaces.srv).items():
        if hasattr(kind, "Request"):
            parts[name] = [kind.Request, kind.Response]
    assert set(parts) == set(sections)
    for name, kinds in parts.items():
        for kind in kinds:
            for field in kind.get_fields_and_field_types():
                assert re.search(rf"^\S+ +{field}\b", sections[name], re.M), f"{name}.{field}"


@pytest.mark.ci
def test_every_parameter_of_the_nodes_is_in_the_table():
    rclpy = pytest.importorskip("rclpy")
    from superovoid_ros.nodes.distance_service.distance_service import DistanceService
    from superovoid_ros.nodes.sweep_player import SweepPlayer
    from superovoid_ros.tools.process.network import own_network

    page = reference_pages.parameters_page()
    tables = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    with own_network("reference"):  # the destroyed node may be visible until it is collected
        rclpy.init(args=["--ros-args", "-p", "autostart:=false"])
    try:
        for kind in (DistanceService, SweepPlayer):
            node = kind()
            name, names = node.get_name(), list(node.get_parameters_by_prefix(""))
            node.destroy_node()
            assert set(re.findall(r"^\| `([\w.]+)` \|", tables[name], re.M)) == set(names)
    finally:
        rclpy.try_shutdown()
    assert str(ROOT) not in page


def test_every_subcommand_has_its_help_on_the_page(capsys):
    from superovoid.cli.command_line import parser

    headings = re.findall(r"^## superovoid ?(.*)$", reference_pages.commands_page(), re.M)

    def subcommands_of(words):
        with suppress(SystemExit):  # a command that accepts any word does not raise
            parser().parse_args([*words, "no such"])
        found = re.search(r"unknown 'no such': must be one of (.*); see", capsys.readouterr().err)
        for word in re.findall(r"[\w-]+", found[1]) if found else ():
            yield [*words, word]
            yield from subcommands_of([*words, word])

    assert sorted(headings) == sorted(["", *(" ".join(words) for words in subcommands_of([]))])
