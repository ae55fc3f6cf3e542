# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Package superovoid: built by colcon (ament_python) where ROS 2 is installed, by pip anywhere else.

All is said here, not in pyproject.toml: `colcon build --symlink-install` does not read that file.
"""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "superovoid"
README = Path(__file__).resolve().parent / "README.md"

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
    # With this mapping an editable install puts this folder on the path, where the package wins over the folder around
    # it, which has its name.
    package_dir={"": "."},
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed"]},
    zip_safe=False,
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    # Reasons for each: docs/dependencies.md. rosdep keys of the same: package.xml.
    install_requires=[
        "lxml",
        "matplotlib",
        "numba>=0.58,<0.69",
        "numpy",
        "pyyaml",
        "rich",
        "scipy",
        # For meshes alone, and imported for the first one: trimesh, and what it reads Collada and turns triangles with.
        "networkx",
        "pycollada",
        "trimesh",
    ],
    extras_require={
        # `superovoid dataset`: stores, and workers beyond this process.
        "dataset": ["dask", "distributed", "pyarrow", "zarr>=3"],
        # A planner, and times of paths.
        "plan": ["ompl", "toppra", "urchin"],
        # `to_dataframe()` of results.
        "table": ["pandas"],
        # `superovoid verify` and `superovoid.checker`: ball arithmetic.
        "verify": ["python-flint"],
        # `superovoid view`: pages in a browser, and bags that are shown there; bags of `superovoid replay`.
        "view": ["mcap", "mcap-ros2-support", "viser"],
        # Tests in a browser, and pictures of pages, in the Chromium of the system.
        "browser": ["playwright"],
        "test": [
            "distributed",
            "hypothesis",
            "mpmath",
            "ompl",
            "pyarrow",
            "pytest",
            "pytest-xdist",
            "python-flint",
            "toppra",
            "urchin",
            "zarr>=3",
        ],
    },
    entry_points={"console_scripts": ["superovoid = superovoid.cli:command"]},
)
