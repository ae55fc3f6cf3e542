# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Programs in C and C++, built with the library as users build them, run without Python."""

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import superovoid
from superovoid import Box, Capsule, Cone, Cylinder, HalfSpace, Sphere, Superovoid, Torus
from superovoid.cli import main
from superovoid.cli.prefix import PREFIX
from superovoid.compiled.library import NATIVE

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "c"
SCENE = EXAMPLES / "scene.txt"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {"scene.c": ["cc", "-std=c99"], "scene.cpp": ["c++", "-std=c++17"]}

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="only the repository contains the examples")


def requires_program(program):
    """Return a mark that skips a test if a program is missing."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def run(*command, **options):
    """Run a program and return its output."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def distances_by_python():
    """Return the distances of all pairs of the scene, as printed by the examples."""
    kinds = {"sphere": Sphere, "capsule": Capsule, "cylinder": Cylinder, "cone": Cone, "torus": Torus}
    placed = []
    for name, kind, *words in (line.split() for line in SCENE.read_text().splitlines() if not line.startswith("#")):
        *numbers, x, y, z, about_x, about_y, about_z = map(float, words)
        if kind == "superovoid":
            shape = Superovoid.from_goncalves(numbers[:3], numbers[3:5], numbers[5:])
        elif kind == "box":
            shape = Box(numbers)
        else:
            shape = HalfSpace() if kind == "half_space" else kinds[kind](*numbers)
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_euler("xyz", (about_x, about_y, about_z)).as_matrix()
        pose[:3, 3] = x, y, z
        placed.append((name, shape, pose))
    found = {(a[0], b[0]): superovoid.distance(*a[1:], *b[1:]) for a, b in itertools.combinations(placed, 2)}
    assert any(each.distance < 0.0 for each in found.values())
    return found


def check(printed):
    """Compare the output of an example with the answers of Python."""
    expected = distances_by_python()
    rows = [line.split() for line in printed.splitlines()]
    assert {(a, b) for a, b, *_ in rows} == expected.keys()
    for a, b, *numbers, word in rows:
        result = expected[a, b]
        # C and Python round their rotations separately.
        assert [*map(float, numbers)] == pytest.approx([result.distance, result.lower, result.upper], abs=2e-10)
        assert word == ("certified" if result.certified else "unproven")


@pytest.mark.ci
@requires_program("cmake")
def test_examples_built_by_cmake_from_a_moved_prefix_agree_with_python(tmp_path):
    shutil.copytree(PREFIX, tmp_path / "moved")
    build = tmp_path / "build"
    flags = [f"-DCMAKE_{language}_FLAGS={' '.join(WARNINGS)}" for language in ("C", "CXX")]
    run("cmake", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={tmp_path / 'moved'}", *flags)
    run("cmake", "--build", build)
    printed = [run(build / name, SCENE, env={}) for name in ("scene_c", "scene_cpp")]
    assert printed[0] == printed[1]
    check(printed[0])


@pytest.mark.ci
@requires_program("pkg-config")
@pytest.mark.parametrize("source", COMPILERS)
def test_examples_built_by_pkg_config_agree_with_python(source, tmp_path):
    environment = os.environ | {"PKG_CONFIG_PATH": str(PREFIX / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "superovoid", env=environment).split()
    folder = run("pkg-config", "--variable=libdir", "superovoid", env=environment).strip()
    more = ["-lm", "-pthread", f"-Wl,-rpath,{folder}", "-o", tmp_path / "scene"]
    run(*COMPILERS[source], *WARNINGS, EXAMPLES / source, *flags, *more)
    check(run(tmp_path / "scene", SCENE, env={}))


@pytest.mark.ci
@requires_program("cmake")
@pytest.mark.parametrize(("version", "is_found"), [("0.1", True), ("0.2", False), ("1.0", False)])
def test_cmake_accepts_compatible_versions_only(version, is_found, tmp_path):
    text = f"cmake_minimum_required(VERSION 3.16)\nproject(p C)\nfind_package(superovoid {version} REQUIRED)\n"
    (tmp_path / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={PREFIX}"]
    assert (subprocess.run(command, capture_output=True, check=False).returncode == 0) is is_found


def test_cmake_and_pkg_config_files_have_the_package_version():
    cmake = PREFIX / "lib" / "cmake" / "superovoid" / "superovoid-config-version.cmake"
    assert f'set(PACKAGE_VERSION "{superovoid.__version__}")' in cmake.read_text()
    assert f"\nVersion: {superovoid.__version__}\n" in (PREFIX / "lib" / "pkgconfig" / "superovoid.pc").read_text()


@pytest.mark.parametrize("compiler", [["cc", "-std=c99", "-xc"], ["c++", "-std=c++17", "-xc++"]])
def test_header_compiles_alone_without_warnings(compiler):
    flags = [*WARNINGS, "-Wstrict-prototypes"] if compiler[0] == "cc" else WARNINGS
    run(*compiler, *flags, "-fsyntax-only", "-", input=f'#include "{PREFIX}/include/superovoid.h"\nint main(void);\n')


def test_an_invalid_scene_is_refused_with_the_name_of_the_body(tmp_path):
    program, scene = tmp_path / "scene", tmp_path / "scene.txt"
    paths = [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib"]
    run(*COMPILERS["scene.c"], EXAMPLES / "scene.c", *paths, "-lsuperovoid", "-lm", "-o", program)
    for line, words in (
        ("ball sphere -1 0 0 0 0 0 0", "ball: a radius, semi-axis or length: must be a number from 1e-30 to 1e30"),
        ("ring torus 1 2 0 0 0 0 0 0", "ring: minor_radius: must be below the major radius"),
        ("ball sphere 1 0 0 0", "ball: expected 7 numbers, found 4"),
        ("ball globe 1 0 0 0 0 0 0", "globe: no such kind"),
    ):
        scene.write_text(line)
        done = subprocess.run([program, scene], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert words in done.stderr


def test_documentation_example_compiles_and_prints_a_proved_distance(tmp_path):
    page = EXAMPLES.parents[1] / "docs" / "tutorials" / "library.md"
    (tmp_path / "example.c").write_text(page.read_text().split("```c\n")[1].split("```")[0])
    paths = [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", f"-Wl,-rpath,{PREFIX}/lib"]
    run("cc", "-std=c99", *WARNINGS, tmp_path / "example.c", *paths, "-lsuperovoid", "-o", tmp_path / "example")
    finger = Superovoid((0.006, 0.007, 0.011), section_exponent=0.9, profile_exponent=0.8, taper=(0.1, 0.1))
    there = np.eye(4)
    there[:3, 3] = 0.02, 0.0, 0.01
    expected = superovoid.distance(finger, np.eye(4), Sphere(0.005), there)
    printed = f"{expected.distance:.12f} m, in [{expected.lower:.17g}, {expected.upper:.17g}]\n"
    assert run(tmp_path / "example", env={}) == printed


def test_command_prefix_prints_the_folder_of_the_header_and_the_library(capsys):
    assert main(["prefix"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert (folder / "include" / "superovoid.h").is_file()
    assert (folder / "lib" / "libsuperovoid.so").is_file()
    assert main(["prefix", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prefix"] == str(folder)


def test_a_call_that_runs_out_of_memory_frees_what_it_has(tmp_path):
    program = r"""
#include <stdlib.h>
#include <stdio.h>
#include <superovoid.h>
int posix_memalign(void **, size_t, size_t);
static long left, taken;
void *aligned_alloc(size_t align, size_t size) {
    void *made = NULL;
    return left-- > 0 && !posix_memalign(&made, align, size) ? (taken++, made) : NULL;
}
extern void __libc_free(void *);
void free(void *memory) { taken -= memory != NULL; __libc_free(memory); }
int main(void) {
    const double corners[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int32_t faces[12] = {0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3};
    int failed = 0;
    for (long most = 0; most < 60; most++) {
        superovoid_body *body = NULL;
        left = most, taken = 0;
        if (superovoid_mesh_create(4, corners, 4, faces, 4, faces, &body)) {
            failed += taken != -1; /* the body itself is of calloc */
            if (failed) printf("%ld left of %ld\n", taken + 1, most);
        } else {
            superovoid_body_free(body);
            return failed || most < 2;
        }
    }
    return 2;
}
"""
    (tmp_path / "program.c").write_text(program)
    folder = NATIVE / "lib"
    command = ["cc", "-rdynamic", "-o", tmp_path / "program", tmp_path / "program.c", f"-I{NATIVE / 'include'}"]
    subprocess.run([*command, f"-L{folder}", "-lsuperovoid", f"-Wl,-rpath,{folder}"], check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
