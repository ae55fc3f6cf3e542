# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The layout of docs/explanation/architecture.md: imports run one way, each name has one module, ROS stays apart."""

import ast
import itertools
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "superovoid": ROOT / "superovoid" / "superovoid",
    "superovoid_ros": ROOT / "superovoid_ros",
    "superovoid_papers": ROOT / "superovoid_papers" / "superovoid_papers",
}
# From the lowest: a folder or module of a package imports only earlier ones.
LAYERS = {
    "superovoid": (
        *(
            "checker",
            "values",
            "compiled",
            "compiler",
            "shapes",
            "contact",
            "scene",
            "extensions",
            "output",
            "robot",
            "states",
            "dataset",
        ),
        *("bridging", "torch", "jax", "mujoco", "pinocchio", "casadi", "crocoddyl", "pink", "mink"),
        *("planning", "fitting", "viewing", "bags", "testing", "cli"),
    ),
    "superovoid_ros": ("resources", "pictures", "motions", "icub", "nodes", "client", "tools", "commands"),
    "superovoid_papers": ("contenders", "methods", "benchmarks", "judges", "experiments", "commands"),
}
# From the lowest: a module or folder of superovoid/contact imports only earlier ones of it. The modules that are not in
# this list may import any of them.
CONTACT = ("inputs", "columns", "pair", "separation", "minkowski", "superovoids", "convex", "lanes")
# The lanes solve the rest of many pairs one by one, and share the chunks of all among threads.
BACK_IN_CONTACT = {("lanes.many_pairs", "compounds"), ("lanes.many_pairs", "broadcasting")}
# Imports of a package from others. Papers use the hands and their motions of ROS, which import nothing of ROS.
ARROWS = {
    "superovoid": {"superovoid"},
    "superovoid_ros": {"superovoid", "superovoid_ros"},
    "superovoid_papers": {"superovoid", "superovoid_ros", "superovoid_papers"},
}
PLAIN_PARTS = {"resources", "motions", "icub"}
# Lower modules that import higher ones.
UPWARDS = {
    # In the body of methods, the first two if SUPEROVOID_KERNELS=jit.
    *(("superovoid.compiled.kernels", name) for name in ("superovoid.compiler", "superovoid.compiler.jit")),
    *((f"superovoid.{name}", "superovoid.viewing") for name in ("robot.robot", "scene.scene", "fitting.showing")),
    # For annotations.
    *(
        (f"superovoid.{name}", "superovoid.viewing.serving")
        for name in ("robot.robot", "scene.scene", "fitting.showing")
    ),
}
ROS = {"rclpy", "launch", "launch_ros", "tf2_ros", "rosidl_runtime_py"}
MESSAGES = ("_msgs", "_srvs", "_interfaces")


def name_of(path, package):
    return ".".join((package, *path.relative_to(PACKAGES[package]).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {name_of(path, package): path for package, folder in PACKAGES.items() for path in folder.rglob("*.py")}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """Return the modules that a module imports, anywhere in its text; of `from a import b`, both a and a.b."""
    names = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def package_of(module):
    return module.partition(".")[0]


def layer_of(module):
    return module.split(".")[1] if module.count(".") else ""


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_has_its_layer(package):
    found = {layer_of(module) for module in MODULES if package_of(module) == package}
    assert found - {""} == set(LAYERS[package])


@pytest.mark.ci
@pytest.mark.parametrize("package", PACKAGES)
def test_imports_between_packages_run_one_way(package):
    for module, path in MODULES.items():
        if package_of(module) == package:
            found = {package_of(other) for other in imports(path)} & set(PACKAGES)
            assert found <= ARROWS[package], f"{module} imports {sorted(found - ARROWS[package])}"


@pytest.mark.ci
def test_tests_of_the_library_need_no_other_package():
    for path in (ROOT / "superovoid" / "test").rglob("*.py"):
        assert {package_of(other) for other in imports(path)} & set(PACKAGES) <= {"superovoid"}, path


def test_papers_import_only_plain_parts_of_the_ros_package():
    for module, path in MODULES.items():
        if package_of(module) == "superovoid_papers":
            found = {other for other in imports(path) if package_of(other) == "superovoid_ros" and other in MODULES}
            assert {layer_of(other) for other in found} <= {"", *PLAIN_PARTS}, f"{module} imports {sorted(found)}"


@pytest.mark.parametrize(("package", "layer"), [(package, layer) for package in LAYERS for layer in LAYERS[package]])
def test_imports_within_a_package_run_one_way(package, layer):
    above = set(LAYERS[package][LAYERS[package].index(layer) + 1 :])
    for module, path in MODULES.items():
        if package_of(module) == package and layer_of(module) == layer:
            found = {each for each in imports(path) if each in MODULES and package_of(each) == package}
            found = {each for each in found if layer_of(each) in above and (module, each) not in UPWARDS}
            assert not found, f"{module} imports {sorted(found)}"


@pytest.mark.parametrize("part", CONTACT)
def test_folders_of_contact_import_only_earlier_ones(part):
    earlier = CONTACT[: CONTACT.index(part) + 1]
    own = {module.removeprefix("superovoid.contact."): path for module, path in MODULES.items()}
    own = {module: path for module, path in own.items() if module.split(".")[0] == part}
    assert own
    for module, path in own.items():
        found = [name for name in direct_imports(path) if name in MODULES and name.startswith("superovoid.contact.")]
        found = {name.removeprefix("superovoid.contact.") for name in found}
        found = {each for each in found if each.split(".")[0] not in earlier and (module, each) not in BACK_IN_CONTACT}
        assert not found, f"{module} imports {sorted(found)}"


def test_the_checker_shares_no_code_with_the_engine():
    own = {module: path for module, path in MODULES.items() if module.startswith("superovoid.checker")}
    assert len(own) > 4
    for module, path in own.items():
        found = {other for other in imports(path) if package_of(other) in PACKAGES}
        assert {layer_of(other) for other in found} <= {"checker"}, f"{module} imports {sorted(found)}"
        assert not {"numba", "mpmath"} & {other.split(".")[0] for other in imports(path)}


def circles():
    """Return sets of two or more modules that import each other, in functions and for annotations, too."""
    graph = {
        module: {other for other in direct_imports(path) if other in MODULES and other != module}
        for module, path in MODULES.items()
    }
    order, reached, found, number = {}, {}, [], itertools.count()
    waiting = []

    def visit(module):  # Tarjan's strongly connected components
        order[module] = reached[module] = next(number)
        waiting.append(module)
        for other in graph[module]:
            if other not in order:
                visit(other)
            if other in waiting:
                reached[module] = min(reached[module], reached[other])
        if reached[module] == order[module]:
            at = waiting.index(module)
            found.append(set(waiting[at:]))
            del waiting[at:]

    for module in graph:
        if module not in order:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def test_import_cycles_have_two_modules_of_one_folder():
    for circle in circles():
        assert len(circle) == 2 and len({MODULES[module].parent for module in circle}) == 1, sorted(circle)


def direct_imports(path):
    """Return the modules that a module imports, anywhere in its text; of `from a import b`, a.b if it is a module."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (each if each in MODULES else node.module for each in full)


def is_of_ros(name):
    package = name.split(".")[0]
    return package in ROS or package.endswith(MESSAGES)


def test_only_nodes_and_the_client_import_ros_or_messages():
    talking = {module for module, path in MODULES.items() if any(map(is_of_ros, imports(path)))}
    others = {module for module in talking if not module.startswith(("superovoid_ros.nodes.", "superovoid_ros.client"))}
    assert not others
    assert {"superovoid_ros.client", "superovoid_ros.nodes.common.endpoints"} <= talking


# --- the node ---

NODE = "superovoid_ros.nodes.distance_service"
PARTS = {
    name: path
    for name, path in MODULES.items()
    if name.startswith(f"{NODE}.") and path.parent.name != "distance_service"
}
# From messages to the model: each imports only earlier ones, and neither messages nor ROS.
PLAIN = (
    "robot_state.latest",
    "robot_state.places",
    "robot_state.measured",
    "world.frames",
    "world.model",
    "world.current_model",
)


# A module of a folder of the node imports only earlier folders, and of the modules beside them these.
FOLDERS = ("robot_state", "world", "answers", "health")
SHARED = {"jobs", "part"}


def owned_by(path, name):
    """Return the members of a class: its methods, and the attributes that they assign to self."""
    (found,) = (node for node in tree_of(path).body if getattr(node, "name", "") == name)
    names = {node.name for node in found.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(found):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    return names


def read_through_a_node(path):
    """Return attributes that a module reads from names ending in node: `node.x`, `self.node.x`, `common.node.x`."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1].lstrip("_") == "node":
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
            assert not ast.unparse(node.args[0]).split(".")[-1].lstrip("_") == "node", ast.unparse(node)


@pytest.mark.parametrize("module", PARTS)
def test_parts_of_the_node_do_not_reach_each_other_through_it(module):
    of_node = owned_by(MODULES[f"{NODE}.distance_service"], "DistanceService") - {"__init__", "destroy_node"}
    assert {"parts", "current", "statistics", "common"} <= of_node
    assert not of_node & set(read_through_a_node(PARTS[module]))
    assert f"{NODE}.distance_service" not in set(imports(PARTS[module]))


@pytest.mark.parametrize("module", PARTS)
def test_folders_of_the_node_import_earlier_ones_alone(module):
    folder = module.removeprefix(f"{NODE}.").partition(".")[0]
    allowed = {*FOLDERS[: FOLDERS.index(folder) + 1], *SHARED}
    found = {
        other.removeprefix(f"{NODE}.").partition(".")[0]
        for other in imports(PARTS[module])
        if other.startswith(f"{NODE}.")
    }
    assert found <= allowed, f"{module} imports {sorted(found - allowed)}"


def test_modules_of_objects_and_rules_are_plain_python_in_one_order():
    for number, name in enumerate(PLAIN):
        found = set(imports(MODULES[f"{NODE}.{name}"]))
        assert not set(filter(is_of_ros, found)), name
        below = {f"{NODE}.{other}" for other in PLAIN[:number]}
        assert {other for other in found if other in MODULES and other.startswith(NODE)} <= below, name


def test_private_modules_are_marked_by_their_folder():
    assert not [
        path for path in MODULES.values() if path.name.startswith("_") and path.stem.strip("_") == path.stem[1:]
    ]


def private_names(tree, of=None):
    """Return the private members of the classes of a module, or of its class with one name."""
    names = set()
    for each in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and of in (None, node.name)):
        for node in ast.walk(each):
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and ast.unparse(node.value) == "self":
                names.add(node.attr)
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_the_solver_page_lists_each_module_once():
    folder = PACKAGES["superovoid"] / "contact"
    modules = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("[!_]*.py")]
    listed = (ROOT / "docs" / "explanation" / "solver.md").read_text().partition("## Modules")[2].partition("## 1.")[0]
    assert sorted(name for name in re.findall(r"`([a-z_/]+)`", listed) if not name.endswith("/")) == sorted(modules)


@pytest.mark.ci
def test_only_its_own_module_reads_private_members_of_a_scene():
    own = "superovoid.scene.scene"
    trees = {module: tree_of(path) for module, path in MODULES.items()}
    private = private_names(trees[own], of="Scene")
    names = {module: private_names(tree) for module, tree in trees.items()}
    others = set().union(*(found for module, found in names.items() if module != own))
    assert {"_cull", "_last_reach", "_tree_fits"} <= private - others
    for module, tree in trees.items():
        # A private name of other classes, too, is a scene's if the variable's name ends in "scene". `PlanningScene` has
        # some of its own.
        known = names[module]
        found = {
            f"{ast.unparse(node)}, line {node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr in private - known
            and (node.attr not in others or ast.unparse(node.value).endswith("scene"))
        }
        assert module == own or not found, f"{module} reads {sorted(found)}"
