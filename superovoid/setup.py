# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package superovoid: built by colcon (ament_python) if ROS 2 is installed, otherwise by pip.

All metadata is here, because `colcon build --symlink-install` does not read pyproject.toml.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # an older setuptools, with which colcon builds no wheel
    bdist_wheel = object

PACKAGE = "superovoid"
HERE = Path(__file__).resolve().parent
README = HERE / "README.md"


class BuildKernels(build_ext):
    """Compile the kernels into a shared library: for this processor, or for each level in SUPEROVOID_LEVELS."""

    def _native(self) -> Path:
        in_place = self.inplace or getattr(self, "editable_mode", False)
        return (HERE if in_place else Path(self.build_lib).resolve()) / PACKAGE / "native"

    def run(self) -> None:
        """Build the library into the package folder."""
        levels = [f"--level={each}" for each in os.environ.get("SUPEROVOID_LEVELS", "").split()]
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", f"{PACKAGE}.compiler", f"--native={self._native()}", *levels]
        subprocess.run(command, check=True, cwd=HERE, env=os.environ | {"PYTHONPATH": path})
        if not {"bdist_wheel", "editable_wheel"} & set(sys.argv):
            self.distribution.data_files.extend(self._for_c())

    def _for_c(self) -> list[tuple[str, list[str]]]:
        """Return the files that colcon installs for CMake, pkg-config and the system's loader."""
        source, built = HERE / PACKAGE / "native", self._native()
        found = [(source, path) for name in ("include", "lib") for path in source.joinpath(name).rglob("*.*")]
        found = [(top, path) for top, path in found if path.is_file() and path.suffix != ".so"]
        found += [(built, path) for path in built.rglob("libsuperovoid.so")]
        return [(str(path.parent.relative_to(top)), [os.path.relpath(path)]) for top, path in sorted(found)]

    def get_outputs(self) -> list[str]:
        """Return the libraries."""
        return sorted(map(str, self._native().rglob("libsuperovoid.so")))

    def get_output_mapping(self) -> dict[str, str]:
        """Return an empty mapping: the libraries have no single source files."""
        return {}


class PlatformWheel(bdist_wheel):
    """A wheel for one platform and every Python version: the library does not depend on Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of the wheel; on Linux, the platform tag has the oldest compatible version of glibc."""
        platform = super().get_tag()[2]
        libraries = self.get_finalized_command("build_ext").get_outputs()
        needed = [
            version for path in libraries for version in re.findall(rb"GLIBC_(\d+)\.(\d+)", Path(path).read_bytes())
        ]
        if platform.startswith("linux_") and needed:
            major, minor = max(tuple(map(int, version)) for version in needed)
            platform = platform.replace("linux", f"manylinux_{major}_{minor}", 1)
        return "py3", "none", platform


setup(
    name=PACKAGE,
    version="0.1.0",
    description="Certified signed distances between superovoids and other bodies, of pairs, scenes and robots",
    long_description=README.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="superovoid_ros maintainers",
    author_email="maintainers@superovoid.example",
    license="Apache-2.0",
    python_requires=">=3.11",
    # With this mapping an editable install adds this folder to the path, so that the package takes precedence over the
    # parent folder of the same name.
    package_dir={"": "."},
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={
        PACKAGE: [
            "py.typed",
            "compiler/*.c",
            "compiler/*.map",
            "native/include/*",
            "native/lib/cmake/superovoid/*",
            "native/lib/pkgconfig/*",
        ]
    },
    ext_modules=[Extension(f"{PACKAGE}.native", sources=[])],
    cmdclass={"build_ext": BuildKernels} | ({} if bdist_wheel is object else {"bdist_wheel": PlatformWheel}),
    zip_safe=False,
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    # docs/reference/dependencies.md has the reasons, package.xml the corresponding rosdep keys.
    install_requires=["numpy", "scipy"],
    # Packages of an extra are imported when needed; if one is missing, the error names the extra.
    extras_require={
        # SUPEROVOID_KERNELS=jit, and `python -m superovoid.compiler` after an edit of a kernel.
        "compile": ["numba>=0.68,<0.69"],
        # Bridges, each in a module of the name of its framework; those with meshes of any form bring trimesh.
        "casadi": ["casadi"],
        "crocoddyl": ["crocoddyl", "superovoid[pinocchio]"],
        "jax": ["jax>=0.5"],
        "mink": ["mink", "superovoid[mujoco]"],
        "mujoco": ["mujoco", "superovoid[meshes]"],
        "pink": ["pin-pink", "quadprog", "superovoid[pinocchio]"],
        "pinocchio": ["pin", "superovoid[meshes]"],
        "torch": ["torch"],
        # Completion of the command line in bash and zsh.
        "completion": ["argcomplete"],
        # `superovoid dataset`: stores, and workers beyond this process.
        "dataset": ["dask", "distributed", "pyarrow", "rich", "zarr>=3"],
        # `superovoid fit`: meshes, spheres of cuRobo, and tables on the terminal.
        "fit": ["pyyaml", "rich", "superovoid[meshes]"],
        # Mesh bodies, `tessellate()`, and glb and Collada files: trimesh, and networkx, which it uses for orientation.
        "meshes": ["networkx", "pycollada", "trimesh"],
        # A planner, and time parametrisation of paths.
        "plan": ["ompl", "toppra", "urchin"],
        # `to_pandas()`, `to_polars()` and `to_arrow()` of results.
        "table": ["pandas", "polars", "pyarrow"],
        # The format usd of `superovoid fit`.
        "usd": ["usd-core"],
        # `superovoid verify` and `superovoid.checker`: ball arithmetic.
        "verify": ["python-flint"],
        # `superovoid view`: web pages, and bags shown there; bags of `superovoid replay`.
        "view": ["mcap", "mcap-ros2-support", "rich", "superovoid[meshes]", "viser"],
        # Tests in a browser, and screenshots of pages, with the system's Chromium.
        "browser": ["playwright"],
        "test": [
            "argcomplete",
            "distributed",
            "hypothesis",
            "matplotlib",
            "mpmath",
            "networkx",
            "numba>=0.68,<0.69",
            "ompl",
            "pyarrow",
            "pycollada",
            "pytest",
            "pytest-xdist",
            "python-flint",
            "pyyaml",
            "rich",
            "toppra",
            "trimesh",
            "urchin",
            "zarr>=3",
        ],
    },
    entry_points={"console_scripts": ["superovoid = superovoid.cli:command"]},
)
