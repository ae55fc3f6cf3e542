# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Build interface packages with pip: CMake runs on their CMakeLists.txt, pip installs the result.

The environment variable ROS_DISTRO selects the distribution of ROS 2 of the wheels.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build import build

SUPPORT = Path(__file__).resolve().parent

# Distributions of ROS 2 with wheels on PyPI, the default first, each with the packages that its build needs in
# addition.
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

# Wheels with CMake files. The list is complete, since they do not declare all requirements of their CMake files.
GENERATORS = [
    "ament-cmake",
    "ament-cmake-include-directories",
    "ament-package",
    "rmw-fastrtps-cpp",
    "rosidl-core-generators",
    "rosidl-default-generators",
]


def distribution() -> str:
    """Return the name of the ROS 2 distribution of the wheels."""
    name = os.environ.get("ROS_DISTRO") or next(iter(DISTRIBUTIONS))
    if name not in DISTRIBUTIONS:
        known = " or ".join(f"ROS_DISTRO={known}" for known in DISTRIBUTIONS)
        raise SystemExit(f"ROS_DISTRO={name} has no wheels on PyPI: set {known}, or use colcon")
    return name


def wheels(*names: str) -> list[str]:
    """Return the names on PyPI of packages of the distribution."""
    return [f"ros-{distribution()}-{name}" for name in names]


def wheels_prefix() -> Path:
    """Return the folder with the `share/`, `lib/` and `include/` of the installed ROS 2 wheels.

    It is `sys.prefix` in a virtual environment, and pip's own temporary folder in an isolated build.
    """
    spec = importlib.util.find_spec("rosidl_generator_py")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The ROS 2 wheels are not importable (rosidl_generator_py not found)")
    package = Path(next(iter(spec.submodule_search_locations))).resolve()
    for folder in package.parents:
        if (folder / "share" / "rosidl_generator_py" / "cmake").is_dir():
            return folder
    raise SystemExit(f"No share/rosidl_generator_py/cmake above {package}")


class CMakeBuild(build):
    """Run CMake into a staging folder and pass its `include/`, `lib/` and `share/` to the wheel."""

    sources: Mapping[str, Path]

    def run(self) -> None:
        """Build every missing interface package and register the files to install."""
        super().run()
        prefix = wheels_prefix()
        staging = Path(self.build_base).resolve() / "staging"
        shutil.rmtree(staging, ignore_errors=True)  # of an earlier build in a deleted temporary folder
        parsed = Path(self.build_base).resolve() / "parsed"
        shutil.rmtree(parsed, ignore_errors=True)
        parsed.mkdir(parents=True)
        missing = {
            name: path for name, path in self.sources.items() if not (prefix / "share" / name / "cmake").is_dir()
        }
        # CMake configures on one core. A package waits for its dependencies.
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
        """Configure, compile and install one package into `staging`, which also provides its dependencies."""
        environment = os.environ.copy()
        environment["CMAKE_PREFIX_PATH"] = environment["AMENT_PREFIX_PATH"] = f"{staging}{os.pathsep}{prefix}"
        environment["IDL_CACHE"] = str(Path(self.build_base).resolve() / "parsed")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SUPPORT), environment.get("PYTHONPATH")]))
        build_folder = Path(self.build_base).resolve() / name
        shutil.rmtree(build_folder, ignore_errors=True)
        configure = [
            "cmake", "-S", str(source), "-B", str(build_folder), "-G", "Ninja",
            # Nearly all of the code copies fields: optimisation would take longer than it saves.
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
                raise SystemExit(f"{command[0]} not found: {error}") from error
            except subprocess.CalledProcessError as error:
                raise SystemExit(f"{name} did not build: {' '.join(command)}") from error


class BinaryDistribution(Distribution):
    """A distribution with compiled modules: the wheel is specific to this Python and this machine."""

    def has_ext_modules(self) -> bool:
        """Return True: the modules are compiled by CMake."""
        return True


def setup_interfaces(sources: Mapping[str, Path], messages: Sequence[str]) -> None:
    """Call `setup` for a distribution of interface packages.

    Parameters
    ----------
    sources : mapping of str to Path
        Packages and their folders, each after its dependencies. Packages in the wheels are not built.
    messages : sequence of str
        Message packages of ROS 2 that these depend on, by their names on PyPI.
    """
    setup(
        distclass=BinaryDistribution,
        packages=[],
        cmdclass={"build": type("CMakeBuild", (CMakeBuild,), {"sources": sources})},
        # pip installs these into its temporary build folder.
        setup_requires=[
            "catkin-pkg",
            "cmake>=3.20",
            "ninja",
            "numpy",
            *wheels(*GENERATORS, *DISTRIBUTIONS[distribution()], *messages),
        ],
        install_requires=["numpy", *wheels("rclpy", "rmw-fastrtps-cpp", *messages)],
    )
