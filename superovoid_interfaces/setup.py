# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build the interfaces with pip: CMake runs on this folder's CMakeLists.txt, pip installs what it made.

The environment variable ROS_DISTRO says which distribution of ROS 2 the wheels are of: `ROS_DISTRO=jazzy pip install .`
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ET
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build import build

HERE = Path(__file__).resolve().parent

# Distributions of ROS 2 that have wheels on PyPI, the default first. What differs between them stands here: packages
# that only one of them has, needed to build.
DISTRIBUTIONS = {
    "kilted": ["ament-cmake-ros-core"],
    "jazzy": [
        "ament-cmake-gmock",
        "ament-cmake-gtest",
        "ament-cmake-pytest",
        "ament-cmake-ros",
        "python-cmake-module",
    ],
}

# Message packages that the interfaces here and those under compat/ are made of.
MESSAGES = [
    "builtin-interfaces",
    "geometry-msgs",
    "sensor-msgs",
    "shape-msgs",
    "std-msgs",
    "trajectory-msgs",
]

# Wheels with CMake files. Spelled out in full: they do not declare all of what their CMake files need.
GENERATORS = [
    "ament-cmake",
    "ament-cmake-include-directories",
    "ament-package",
    "rmw-fastrtps-cpp",
    "rosidl-core-generators",
    "rosidl-default-generators",
]

# Foreign interface packages, each after those it needs; built where the wheels lack them.
COMPAT = ["tf2_msgs", "object_recognition_msgs", "octomap_msgs", "moveit_msgs"]


def distribution() -> str:
    """Return the name of the ROS 2 distribution whose wheels are used."""
    name = os.environ.get("ROS_DISTRO") or next(iter(DISTRIBUTIONS))
    if name not in DISTRIBUTIONS:
        known = " or ".join(f"ROS_DISTRO={known}" for known in DISTRIBUTIONS)
        raise SystemExit(f"superovoid_interfaces: ROS_DISTRO={name} has no wheels on PyPI: set {known}, or use colcon")
    return name


def wheels(*names: str) -> list[str]:
    """Return the names on PyPI of packages of the distribution."""
    return [f"ros-{distribution()}-{name}" for name in names]


def wheels_prefix() -> Path:
    """Return the folder with the `share/`, `lib/` and `include/` of the installed ROS 2 wheels.

    That is `sys.prefix` in a virtual environment, and pip's own temporary folder in an isolated build.
    """
    spec = importlib.util.find_spec("rosidl_generator_py")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("superovoid_interfaces: the ROS 2 wheels are not importable (rosidl_generator_py not found)")
    package = Path(next(iter(spec.submodule_search_locations))).resolve()
    for folder in package.parents:
        if (folder / "share" / "rosidl_generator_py" / "cmake").is_dir():
            return folder
    raise SystemExit(f"superovoid_interfaces: no share/rosidl_generator_py/cmake above {package}")


class CMakeBuild(build):
    """Run CMake into a staging folder and hand its `include/`, `lib/` and `share/` to the wheel."""

    def run(self) -> None:
        """Build every missing interface package and register what is to be installed."""
        super().run()
        prefix = wheels_prefix()
        staging = Path(self.build_base).resolve() / "staging"
        shutil.rmtree(staging, ignore_errors=True)  # of an earlier build, made in a temporary folder that is gone
        parsed = Path(self.build_base).resolve() / "parsed"
        shutil.rmtree(parsed, ignore_errors=True)
        parsed.mkdir(parents=True)
        sources = {name: HERE / "compat" / name for name in COMPAT} | {"superovoid_interfaces": HERE}
        missing = {name: path for name, path in sources.items() if not (prefix / "share" / name / "cmake").is_dir()}
        # CMake configures on one core. A package waits for those before it that it needs.
        with ThreadPoolExecutor(os.cpu_count()) as builders:
            built: dict[str, Future] = {}

            def build_after(name: str, needed: list[Future]) -> None:
                for other in needed:
                    other.result()
                self._build_package(name, missing[name], prefix, staging)

            for name, source in missing.items():
                declared = {element.text for element in ET.parse(source / "package.xml").getroot().findall("depend")}
                needed = [other for before, other in built.items() if before in declared]
                built[name] = builders.submit(build_after, name, needed)
        for outcome in built.values():
            outcome.result()
        site_packages = Path(sysconfig.get_path("purelib", vars={"base": "", "platbase": ""}).lstrip("/"))
        modules = staging / site_packages
        for module in sorted(modules.glob("*/**/*")):
            if module.is_file() and module.suffix not in (".c", ".pyc") and ".egg-info" not in str(module):
                target = Path(self.build_lib) / module.relative_to(modules)
                self.mkpath(str(target.parent))
                self.copy_file(str(module), str(target))
        self.distribution.data_files = [
            (
                str(folder.relative_to(staging)),
                [str(path) for path in sorted(folder.iterdir()) if path.is_file()],
            )
            for top in ("include", "lib", "share")
            for folder in sorted([staging / top, *(staging / top).rglob("*")])
            if folder.is_dir() and not folder.is_relative_to(modules)
        ]

    def _build_package(self, name: str, source: Path, prefix: Path, staging: Path) -> None:
        """Configure, compile and install one package into `staging`, where those built before it are found."""
        environment = os.environ.copy()
        environment["CMAKE_PREFIX_PATH"] = environment["AMENT_PREFIX_PATH"] = f"{staging}{os.pathsep}{prefix}"
        environment["IDL_CACHE"] = str(Path(self.build_base).resolve() / "parsed")
        support = str(HERE / "build_support")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [support, environment.get("PYTHONPATH")]))
        build_folder = Path(self.build_base).resolve() / name
        shutil.rmtree(build_folder, ignore_errors=True)
        configure = [
            "cmake", "-S", str(source), "-B", str(build_folder), "-G", "Ninja",
            # Nearly all of the code copies fields: optimising it takes longer than it ever saves.
            "-DCMAKE_C_FLAGS=-O0",
            "-DCMAKE_CXX_FLAGS=-O0",
            "-DBUILD_TESTING=OFF",
            "-DSUPEROVOID_PYTHON_ONLY=ON",
            f"-DCMAKE_INSTALL_PREFIX={staging}",
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DPython3_FIND_VIRTUALENV=ONLY" if sys.prefix != sys.base_prefix else
            "-DPython3_FIND_VIRTUALENV=FIRST",
        ]  # fmt: skip
        for command in (configure, ["cmake", "--build", str(build_folder), "--target", "install"]):
            try:
                subprocess.run(command, check=True, env=environment)
            except FileNotFoundError as error:
                raise SystemExit(f"superovoid_interfaces: {command[0]} not found: {error}") from error
            except subprocess.CalledProcessError as error:
                raise SystemExit(f"superovoid_interfaces: {name} did not build: {' '.join(command)}") from error


class BinaryDistribution(Distribution):
    """A distribution with compiled modules: the wheel is tied to this Python and this machine."""

    def has_ext_modules(self) -> bool:
        """Return True: the modules are compiled by CMake."""
        return True


setup(
    distclass=BinaryDistribution,
    packages=[],
    cmdclass={"build": CMakeBuild},
    # pip installs these into the temporary folder that it builds in.
    setup_requires=[
        "catkin-pkg",
        "cmake>=3.20",
        "ninja",
        "numpy",
        *wheels(*GENERATORS, *DISTRIBUTIONS[distribution()], *MESSAGES),
    ],
    install_requires=["numpy", *wheels("rclpy", "rmw-fastrtps-cpp", *MESSAGES)],
)
