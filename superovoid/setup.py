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
    install_requires=["numba>=0.58,<0.69", "numpy", "scipy"],
    # What an extra brings is imported when it is needed; an error says which extra is missing.
    extras_require={
        # `superovoid dataset`: stores, and workers beyond this process.
        "dataset": ["dask", "distributed", "pyarrow", "rich", "zarr>=3"],
        # `superovoid fit`: meshes, and tables on the terminal.
        "fit": ["rich", "superovoid[meshes]"],
        # Bodies that are meshes, `tessellate()`, and glb and Collada files: trimesh, and what it turns triangles with.
        "meshes": ["networkx", "pycollada", "trimesh"],
        # A planner, and times of paths.
        "plan": ["ompl", "toppra", "urchin"],
        # `to_dataframe()` of results.
        "table": ["pandas"],
        # `superovoid verify` and `superovoid.checker`: ball arithmetic.
        "verify": ["python-flint"],
        # `superovoid view`: pages in a browser, and bags that are shown there; bags of `superovoid replay`.
        "view": ["mcap", "mcap-ros2-support", "rich", "superovoid[meshes]", "viser"],
        # Tests in a browser, and pictures of pages, in the Chromium of the system.
        "browser": ["playwright"],
        "test": [
            "distributed",
            "hypothesis",
            "matplotlib",
            "mpmath",
            "networkx",
            "ompl",
            "pyarrow",
            "pycollada",
            "pytest",
            "pytest-xdist",
            "python-flint",
            "rich",
            "toppra",
            "trimesh",
            "urchin",
            "zarr>=3",
        ],
    },
    entry_points={"console_scripts": ["superovoid = superovoid.cli:command"]},
)
