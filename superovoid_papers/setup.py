# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package superovoid_papers: built by colcon (ament_python) if ROS 2 is installed, otherwise by pip.

All metadata is here, because `colcon build --symlink-install` does not read pyproject.toml.
"""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "superovoid_papers"
README = Path(__file__).resolve().parent / "README.md"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Methods and experiments of four papers about distances of curved bodies, and benchmarks of engines",
    long_description=README.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="superovoid_ros maintainers",
    author_email="maintainers@superovoid.example",
    license="Apache-2.0",
    python_requires=">=3.11",
    package_dir={"": "."},
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    zip_safe=False,
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    # superovoid_ros, without ROS, provides the hands, motions and molars of the experiments and benchmarks.
    install_requires=["matplotlib", "numba", "numpy", "rich", "scipy", "superovoid[fit]", "superovoid_ros"],
    extras_require={
        # Other libraries for `superovoid experiment` and `superovoid dev bench`; a checker for `never-wrong`.
        "bench": ["casadi", "coal", "distance3d", "mujoco", "python-fcl", "python-flint", "scikit-image"],
        # pinocchio with Coal, and robots, for `superovoid dev bench robots`.
        "robots": ["coal", "example-robot-data", "pin"],
        "test": ["hypothesis", "mpmath", "pytest", "pytest-xdist", "python-flint"],
    },
    entry_points={
        "superovoid.commands": [
            "bench = superovoid_papers.commands.bench",
            "experiment = superovoid_papers.commands.experiment",
        ]
    },
)
