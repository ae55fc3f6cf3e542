# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The comparison of kinds with Coal: its third opinion against closed forms, its verdicts, its report."""

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console
from scipy.spatial.transform import Rotation

from superovoid import cli, distance
from superovoid.shapes import Box, Capsule, HalfSpace, Mesh, Sphere, Torus
from superovoid_papers.benchmarks import kinds_comparison, peers
from superovoid_papers.benchmarks.kinds_comparison import Case, compare_kinds, third_opinion

KIND = {kind.name: kind for kind in kinds_comparison.KINDS}


def pose(x=0.0, y=0.0, z=0.0, rotvec=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(rotvec).as_matrix()
    matrix[:3, 3] = x, y, z
    return matrix


def opinion(names, a, pose_a, b, pose_b):
    motion = pose(0.2, -0.4, 0.9, (1.0, 0.3, -0.5))
    return third_opinion(tuple(KIND[name] for name in names), Case((a, b), (motion @ pose_a, motion @ pose_b), 0.5))


def test_third_opinion_on_plane_and_box_is_the_lowest_corner():
    tilted = pose(0.0, 0.0, 1.0, (0.0, math.pi / 4, 0.0))
    found = opinion(("plane", "box"), HalfSpace(), pose(), Box((0.6, 0.4, 0.6)), tilted)
    assert found.distance == pytest.approx(1.0 - 0.3 * math.sqrt(2.0), abs=1e-14)


def test_third_opinion_on_a_sphere_in_the_hole_of_a_torus():
    found = opinion(("sphere", "torus"), Sphere(0.2), pose(0.1, 0.0, 0.0), Torus(1.0, 0.3), pose())
    assert found.distance == pytest.approx(1.0 - 0.1 - 0.3 - 0.2, abs=1e-8)


def test_third_opinion_on_linked_tori():
    # The circle of B passes through the centre of A, in a plane across: |x - y| is least at its crossing of A's plane.
    found = opinion(
        ("torus", "torus"), Torus(1.0, 0.2), pose(), Torus(1.0, 0.3), pose(1.0, 0.0, 0.0, (math.pi / 2, 0, 0))
    )
    assert found.distance == pytest.approx(1.0 - 0.2 - 0.3, abs=1e-8)


def notched_cube():
    """Return a cube of side 2 with a square notch in its top along y, one wide and one deep."""
    import trimesh

    outline = [(-1, -1), (1, -1), (1, 1), (0.5, 1), (0.5, 0), (-0.5, 0), (-0.5, 1), (-1, 1)]
    vertices = [(x, y, z) for y in (-1.0, 1.0) for x, z in outline]
    quads = [(0, 1, 4, 5), (1, 2, 3, 4), (0, 5, 6, 7)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    faces += [tuple(8 + i for i in reversed(face)) for face in list(faces)]
    for i in range(8):
        j = (i + 1) % 8
        faces += [(i, 8 + i, 8 + j), (i, 8 + j, j)]
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    mesh.fix_normals()
    return Mesh(np.array(mesh.vertices), np.array(mesh.faces))


def test_third_opinion_on_a_capsule_in_the_notch_of_a_mesh():
    capsule = Capsule(0.2, 0.3)
    found = opinion(("capsule", "mesh"), capsule, pose(0.1, 0.0, 0.6), notched_cube(), pose())
    assert found.distance == pytest.approx(min(0.5 - 0.1, 0.6 - 0.15) - 0.2, abs=1e-9)


def test_depth_without_convexity_has_no_third_opinion():
    assert opinion(("sphere", "torus"), Sphere(0.2), pose(1.0), Torus(1.0, 0.3), pose()) is None


@pytest.mark.parametrize("names", (("sphere", "cone"), ("plane", "convex mesh"), ("capsule", "capsule")))
def test_our_answers_agree_with_the_third_opinion(names):
    row = compare_kinds(tuple(KIND[name] for name in names), 6, 0, None)
    assert row["judged"] > 0 and row["ours_right"] == row["judged"]
    assert row["our_faults"] == [] and row["coal"] is None


def test_a_wrong_answer_of_ours_is_detected(monkeypatch):
    kinds = KIND["sphere"], KIND["box"]
    given = [kinds_comparison.random_case(kinds, np.random.default_rng(1))]
    true = third_opinion(kinds, given[0]).distance
    verdict = kinds_comparison._judge(kinds, given[0], true + 1e-3 * given[0].size, None)
    assert verdict["ours_right"] is False


def test_coal_agrees_on_spheres_and_boxes():
    pytest.importorskip("coal")
    coal = peers.Coal(peers.Geometry.HULL_5002)
    row = compare_kinds((KIND["sphere"], KIND["box"]), 20, 0, coal)
    assert row["coal"]["compared"] == 20 and row["coal"]["max_difference"] < 1e-12
    assert row["coal"]["other_sign"] == 0


def test_table_and_report_have_dashes_for_kinds_missing_in_coal():
    row = compare_kinds((KIND["sphere"], KIND["torus"]), 4, 0, None)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(kinds_comparison.table([row]))
    line = next(line for line in console.export_text().splitlines() if "sphere – torus" in line)
    cells = [cell.strip() for cell in line.strip("│ ").split("│")]
    assert cells[3:7] == ["–"] * 4 and cells[-2:] == ["–", "–"]
    assert json.loads(json.dumps(row, default=float))["kinds"] == ["sphere", "torus"]


def test_open_intervals_are_counted_and_named():
    torus, box = KIND["torus"], KIND["box"]
    deep = [Case((Box((2.0, 2.0, 2.0)), Torus(0.5, 0.2)), (pose(0.01 * i, 0.02), pose()), 0.5) for i in range(3)]
    apart = Case((Box((2.0, 2.0, 2.0)), Torus(0.5, 0.2)), (pose(5.0), pose()), 0.5)
    found = kinds_comparison.open_intervals([*deep, apart])
    answers = [distance(case.bodies[0], case.poses[0], case.bodies[1], case.poses[1]) for case in deep]
    assert (found["apart"], found["overlapping"], found["open_apart"]) == (1, 3, 0)
    assert found["open_overlapping"] == sum(not answer.certified for answer in answers)
    rows = [{"kinds": [box.name, torus.name], "open": found | {"open_overlapping": 2, "median_width": 0.25}}]
    rows.append({"kinds": ["sphere", "box"], "open": found | {"open_overlapping": 0, "median_width": None}})
    assert kinds_comparison.what_stays_open(rows) == [
        "Open intervals: none of 1 of 2 pairs of kinds, of the others",
        "box – torus: overlapping 2 of 3, apart 0 of 1; median width 0.2",
    ]


def test_bench_kinds_passes_its_options_on(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(kinds_comparison, "main", lambda **options: given.update(options) or 0)
    assert cli.main(["dev", "bench", "kinds", "--pairs", "9", "--output", str(tmp_path)]) == 0
    assert given == {"pairs": 9, "seed": 0, "output": tmp_path}
