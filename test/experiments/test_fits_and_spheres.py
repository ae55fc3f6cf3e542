# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid experiment fits`: spheres that stand beside the bodies, and what is told of both."""

import numpy as np
import pytest
import trimesh

from superovoid_ros.experiments import fits_and_spheres
from superovoid_ros.fitting import Target, measure_union
from superovoid_ros.fitting.link_geometry import LinkGeometry


@pytest.mark.slow
def test_one_sphere_of_a_ball_is_the_ball_and_those_of_a_capsule_string_along_it():
    ball = trimesh.creation.icosphere(4, 0.1)
    ((sphere, pose),) = fits_and_spheres.medial_spheres(Target.from_triangles(ball.vertices, ball.faces), 1, 0)
    assert sphere.radius == pytest.approx(0.1, rel=0.05) and np.linalg.norm(pose[:3, 3]) < 0.005
    capsule = trimesh.creation.capsule(0.3, 0.05)
    target = Target.from_triangles(capsule.vertices, capsule.faces)
    few, many = (fits_and_spheres.medial_spheres(target, count, 0) for count in (2, 8))
    assert len(few) == 2 and len(many) <= 8
    for sphere, pose in many:
        depth = -target.signed_distance(pose[None, :3, 3])[0]
        assert depth > 0.0 and sphere.radius <= 1.2 * depth * (1.0 + 1e-3)
    assert measure_union(many, target).iou > measure_union(few, target).iou + 0.1
    assert measure_union(many, target).iou > 0.8


def test_a_link_has_a_row_for_each_number_of_bodies_and_robots_without_links_a_dash(capsys):
    box = trimesh.creation.box((0.1, 0.06, 0.2))
    link = LinkGeometry("arm", np.asarray(box.vertices), np.asarray(box.faces), "meshes", ())
    rows = list(fits_and_spheres.measure_link("Panda", link, 1, 0))
    assert [(row.most, row.bodies, row.spheres) for row in rows] == [(1, 1, 5)]
    assert rows[0].iou > 0.97 > rows[0].spheres_iou and rows[0].mean < rows[0].spheres_mean
    made = fits_and_spheres.table(rows)
    cells = [list(column.cells) for column in made.columns]
    names = cells[0]
    assert names[0] == "Panda" and cells[-1][0] == "1 of 1"
    assert cells[3][names.index("UR5")] == "–"
