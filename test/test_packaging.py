# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Declarations of the packages, and the installed package."""

import ast
import importlib.util
import re
import sysconfig
import tomllib
import xml.etree.ElementTree as ET
from importlib.metadata import distributions
from pathlib import Path

import pytest

import superovoid
import superovoid_papers
import superovoid_ros
from superovoid_ros.resources import share_directory

ROOT = Path(__file__).resolve().parents[1]
# rosdep keys with another PyPI name, and names that only one of the two needs.
PYPI_NAME = {"python3-yaml": "pyyaml", "python3-sympy": "mpmath"}
ONLY_PYPI = {
    # For meshes: trimesh is only a pip key in rosdep, and bloom refuses such keys.
    *("networkx", "pycollada", "trimesh"),
    "urchin",  # a second implementation of kinematics, with a pip key only
    "example-robot-data",  # robots of tests that skip without them
    "mypy",  # a tool of developers; its tests skip without it
    "ompl",  # the key means the C++ library, which ROS has without its Python bindings; its tests skip without them
    *("distributed", "pyarrow", "zarr"),  # stores of data sets; their tests skip without these
    "pytest-xdist",  # only shortens a run
    "python-flint",  # has no key; the tests of the checker skip without it
    "toppra",  # has no key; its tests skip without it
    "ruff",  # a tool of developers, not of users who run the tests
}


LIBRARY, PAPERS = ROOT / "superovoid", ROOT / "superovoid_papers"
RELEASED = ("superovoid", "superovoid_ros", "superovoid_papers", "superovoid_interfaces", "superovoid_demos")


def setup_arguments(folder=ROOT):
    """Return the literal arguments of setup() in setup.py."""
    tree = ast.parse((folder / "setup.py").read_text(encoding="utf-8"))
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "setup")
    literal = {}
    for keyword in call.keywords:
        try:
            literal[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return literal


def manifest(folder=ROOT):
    """Return package.xml."""
    return ET.parse(folder / "package.xml").getroot()


def test_one_version_everywhere():
    versions = {
        **{module.__name__: module.__version__ for module in (superovoid, superovoid_papers, superovoid_ros)},
        **{f"{folder.name}/setup.py": setup_arguments(folder)["version"] for folder in (ROOT, LIBRARY, PAPERS)},
        **{f"{folder.name}/package.xml": manifest(folder).findtext("version") for folder in (ROOT, LIBRARY, PAPERS)},
        "superovoid_interfaces/package.xml": manifest(ROOT / "superovoid_interfaces").findtext("version"),
        "superovoid_demos/package.xml": manifest(ROOT / "superovoid_demos").findtext("version"),
        **{
            str(file): re.search(r'^version = "(.*)"', file.read_text(encoding="utf-8"), re.M)[1]
            for file in (ROOT / "superovoid_interfaces").rglob("pyproject.toml")
        },
    }
    assert len(set(versions.values())) == 1, versions


def requirements_of(folder):
    """Return the PyPI requirements of a distribution, and those of its tests."""
    arguments = setup_arguments(folder)
    return arguments["install_requires"], arguments["extras_require"]["test"]


@pytest.mark.parametrize("folder", [ROOT, LIBRARY, PAPERS], ids=lambda folder: folder.name)
def test_python_dependencies_agree_in_both_declarations(folder):
    for tag, entries in zip(("exec_depend", "test_depend"), requirements_of(folder), strict=True):
        keys = [element.text for element in manifest(folder).findall(tag) if element.text.startswith("python3-")]
        names = {PYPI_NAME.get(key, key.removeprefix("python3-").removesuffix("-pip")) for key in keys}
        wanted = {re.split(r"[<>=!~\[ ]", entry)[0] for entry in entries} - ONLY_PYPI
        assert names == {name for name in wanted if not name.startswith("superovoid")}
        of_ours = {name for name in wanted if name.startswith("superovoid")}
        assert tag == "test_depend" or of_ours <= {element.text for element in manifest(folder).findall(tag)}


def test_build_dependencies_of_the_kernels_agree_in_both_declarations():
    asked = tomllib.loads((LIBRARY / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    names = {f"python3-{re.split('[<>=]', entry)[0]}" for entry in asked} - {"python3-setuptools"}
    assert {element.text for element in manifest(LIBRARY).findall("build_depend")} == names | {"build-essential"}


def test_ros_dependencies_agree_in_both_declarations():
    packages = {element.text for element in manifest().findall("exec_depend")}
    wheels = {name.removeprefix("ros-").replace("-", "_") for name in setup_arguments()["extras_require"]["wheels"]}
    wheels -= {"rmw_fastrtps_cpp"}  # the middleware; with ROS 2 the user's choice
    assert wheels <= packages


@pytest.mark.parametrize("package", RELEASED)
def test_each_package_of_the_repository_can_be_released_separately(package):
    folder = ROOT if package == "superovoid_ros" else ROOT / package
    assert manifest(folder).findtext("name") == package
    assert (folder / manifest(folder).find("license").get("file")).read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert f"Changelog for package {package}\n" in (folder / "CHANGELOG.rst").read_text(encoding="utf-8")
    keys = [element.text for element in manifest(folder) if element.tag.endswith("depend")]
    assert not [key for key in keys if key.endswith("-pip")], "bloom refuses pip keys, even of tests"


def depends(folder=ROOT):
    """Return the names of all dependencies of a package except those of tests."""
    return {
        element.text for element in manifest(folder) if element.tag.endswith("depend") and "test" not in element.tag
    }


def test_dependencies_of_the_demos_are_none_of_the_service():
    of_service, of_demos = depends(), depends(ROOT / "superovoid_demos")
    assert not of_service & of_demos
    heavy = ("moveit_ros", "moveit_configs", "moveit_planners", "rviz", "controller", "joint_", "xacro")
    assert not [name for name in of_service if name.startswith(heavy)]
    # Packages that the launch files import or start.
    used = set()
    for path in (ROOT / "launch").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'package="(\w+)"', text)) | set(re.findall(r"^from (\w+)", text, re.M))
    of_python = {"pathlib", "superovoid_ros"}
    assert used <= of_service | of_demos | of_python, used - of_service - of_demos - of_python


INTERFACES = ROOT / "superovoid_interfaces"
FOREIGN = INTERFACES / "compat"
# Folders of the packages that pip builds.
BUILT = {INTERFACES: FOREIGN, FOREIGN / "moveit": FOREIGN / "moveit"}


def interface_lists(folder):
    """Return the literal lists at the top of a setup.py: the built packages, and their required messages."""
    tree = ast.parse((folder / "setup.py").read_text(encoding="utf-8"))
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    }


@pytest.mark.parametrize("folder", BUILT, ids=lambda folder: folder.name)
def test_interfaces_are_built_after_their_dependencies(folder):
    lists, sources = interface_lists(folder), BUILT[folder]
    assert set(lists["PACKAGES"]) == {path.parent.name for path in sources.glob("*/CMakeLists.txt")}
    known = {name.replace("-", "_") for name in lists["MESSAGES"]}
    for name in lists["PACKAGES"]:
        assert {element.text for element in manifest(sources / name).findall("depend")} <= known, name
        known.add(name)
    if folder == INTERFACES:
        assert {element.text for element in manifest(folder).findall("depend")} <= known


def test_colcon_ignores_foreign_interfaces():
    assert (FOREIGN / "COLCON_IGNORE").is_file()


@pytest.mark.parametrize(
    "folder", [INTERFACES, *(path.parent for path in FOREIGN.rglob("CMakeLists.txt"))], ids=lambda folder: folder.name
)
def test_every_interface_file_is_generated(folder):
    files = {f"{path.parent.name}/{path.name}" for kind in ("msg", "srv") for path in folder.glob(f"{kind}/*.{kind}")}
    listed = re.findall(r'"((?:msg|srv)/\w+\.(?:msg|srv))"', (folder / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert sorted(files) == sorted(listed)


@pytest.mark.parametrize("entry", setup_arguments()["entry_points"]["console_scripts"])
def test_entry_point_exists(entry):
    module, function = entry.split("=")[1].strip().split(":")
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"no module {module}"
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    "file",
    [
        "package.xml",
        ".setup_assistant",
        "config/dental_bite.rviz",
        "config/dental_bite.yaml",
        "config/distance_service.yaml",
        "config/grasp_sweep.rviz",
        "config/grasp_sweep.yaml",
        "config/grasp_sweep_arms.rviz",
        "config/grasp_sweep_arms.yaml",
        "config/icub_hands.srdf",
        "config/icub_upper_body.srdf",
        "launch/demo.launch.py",
        "launch/dental_bite.launch.py",
        "launch/distance_service.launch.py",
        "launch/grasp_sweep.launch.py",
        "launch/replay.launch.py",
        "urdf/icub_hands.urdf",
        "urdf/icub_upper_body.urdf",
        "urdf/molars.urdf",
    ],
)
def test_file_is_installed_in_its_usual_place(file):
    assert (share_directory() / file).is_file()


@pytest.mark.parametrize("robot", ["icub_hands", "icub_upper_body"])
def test_every_mesh_of_a_robot_is_shipped(robot):
    share = share_directory()
    names = {mesh.get("filename") for mesh in ET.parse(share / "urdf" / f"{robot}.urdf").iter("mesh")}
    assert names
    for name in names:
        assert (share / name.removeprefix("package://superovoid_ros/")).is_file(), name


def test_installed_package_has_nodes_in_the_folder_of_ros():
    # Not distribution(): it may find leftovers of a build in the source folder.
    found = list(distributions(name="superovoid_ros", path=[sysconfig.get_path("purelib")]))
    if not found:
        pytest.skip("superovoid_ros is not installed by pip")
    files = found[0].files or []
    installed = {Path(file.locate()).resolve() for file in files}
    nodes = [file for file in installed if file.parent.parts[-2:] == ("lib", "superovoid_ros")]
    if not any(file.parts[-3:] == ("share", "superovoid_ros", "package.xml") for file in installed):
        pytest.skip("installed in a way that leaves data files out (editable, or by colcon)")
    assert {node.name for node in nodes} == {"distance_service", "simulated_controllers", "sweep_player"}
    assert all(node.stat().st_mode & 0o111 for node in nodes)


def test_the_quality_declaration_names_every_package_and_this_python():
    text = (ROOT / "QUALITY_DECLARATION.md").read_text(encoding="utf-8")
    for package in RELEASED:
        assert f"`{package}`" in text
    # The statements about levels hold for this version.
    assert superovoid.__version__.startswith("0.") and f"{superovoid.__version__} is not stable" in text
    assert setup_arguments()["python_requires"] == ">=3.11" and "needs 3.11" in text
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / link).exists(), link


HEADER = "# Copyright 2026 superovoid_ros maintainers\n# SPDX-License-Identifier: Apache-2.0\n"


def test_every_python_file_states_its_copyright_and_licence():
    folders = ("docs", "examples", "launch", *RELEASED, "test")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")] + list(ROOT.glob("*.py"))
    assert len(files) > 400
    for path in files:
        if "build" in path.relative_to(ROOT).parts:  # leftovers of a build
            continue
        text = path.read_text(encoding="utf-8")
        start = text.index("\n") + 1 if text.startswith("#!") else 0
        assert text.startswith(HEADER, start), path.relative_to(ROOT)
