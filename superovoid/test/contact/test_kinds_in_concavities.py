# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies of every kind in the concavity of a superovoid: inside its hull, and yet separate from it."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from superovoid import (
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Mesh,
    Superovoid,
    Torus,
    are_intersecting,
    distance,
)

SADDLE = Superovoid((1.0, 1.0, 1.0), section_exponent=1.9, profile_exponent=0.1, taper=(0.5, -0.5))
IN_CONCAVITY = np.array([-0.72, 0.72, 0.0])  # the hull reaches 0.29 m beyond the body at this point
CLEAR = 0.28

_RING = trimesh.creation.torus(0.15, 0.05, major_sections=12, minor_sections=6)
_CORNERS = np.random.default_rng(2).normal(size=(6, 3))
PROBES = {
    "box": Box((0.2, 0.1, 0.3)),
    "capsule": Capsule(0.05, 0.3),
    "cylinder": Cylinder(0.1, 0.3),
    "cone": Cone(0.1, 0.3),
    "hull": ConvexMesh(0.2 * _CORNERS / np.linalg.norm(_CORNERS, axis=1)[:, None]),
    "mesh": Mesh(_RING.vertices, _RING.faces),
    "torus": Torus(0.15, 0.05),
}
KINDS = sorted(PROBES)


def _pose(turn=(0.0, 0.0, 0.0), at=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), at
    return pose


def _level(points):
    """Return F + 1 of the saddle by its definition, with plain powers."""
    (e1, e2), (tx, ty) = (SADDLE.section_exponent, SADDLE.profile_exponent), SADDLE.taper
    x, y, z = points.T
    with np.errstate(invalid="ignore"):
        section = np.abs(x / (1.0 + tx * z)) ** (2.0 / e1) + np.abs(y / (1.0 + ty * z)) ** (2.0 / e1)
        value = section ** (e1 / e2) + np.abs(z) ** (2.0 / e2)
    return np.where(np.abs(z) < 1.0, value, np.inf)


def _surface():
    """Return points of the surface, close together on edges, too."""
    (e1, e2), (tx, ty) = (SADDLE.section_exponent, SADDLE.profile_exponent), SADDLE.taper
    u = np.linspace(0.0, 1.0, 120)

    def quarter(e):
        v = (1.0 - u ** (2.0 / e)) ** (0.5 * e)
        return np.vstack([np.stack([u, v], 1), np.stack([v, u], 1)])

    (r, w), (c, s) = quarter(e2).T[:, :, None], quarter(e1).T
    points = []
    for signs in np.ndindex(2, 2, 2):
        sx, sy, sz = 1 - 2 * np.array(signs)
        z = sz * w + 0.0 * s
        points.append(np.stack([sx * (1.0 + tx * z) * r * c, sy * (1.0 + ty * z) * r * s, z], -1).reshape(-1, 3))
    return np.vstack(points)


SURFACE = _surface()


def _heights(kind, points):
    """Return distances of points from a probe by independent closed forms; None if it has none."""
    shape, q = PROBES[kind], np.abs(points)
    rho = np.hypot(points[:, 0], points[:, 1])
    if kind == "box":
        return np.linalg.norm(np.maximum(q - 0.5 * np.array(shape.lengths), 0.0), axis=1)
    if kind == "capsule":
        return np.hypot(rho, np.maximum(q[:, 2] - 0.5 * shape.length, 0.0)) - shape.radius
    if kind == "cylinder":
        return np.hypot(np.maximum(rho - shape.radius, 0.0), np.maximum(q[:, 2] - 0.5 * shape.length, 0.0))
    if kind == "torus":
        return np.hypot(rho - shape.major_radius, points[:, 2]) - shape.minor_radius
    return None


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_in_a_concavity_is_proved_to_be_separate(kind, seed):
    rng = np.random.default_rng(seed)
    frame = _pose(rng.normal(size=3), rng.normal(size=3))
    probe = PROBES[kind]
    pose = _pose(rng.normal(size=3), IN_CONCAVITY + rng.uniform(-0.03, 0.03, 3))
    assert probe.bounding_sphere().radius < CLEAR
    found = distance(SADDLE, frame, probe, frame @ pose)
    assert found.certified, found
    assert found.distance > 0.0
    assert np.linalg.norm(found.point_b - found.point_a) == pytest.approx(found.distance, abs=1e-10)
    local = (found.point_a - frame[:3, 3]) @ frame[:3, :3]
    assert _level(local[None])[0] == pytest.approx(1.0, abs=1e-9)
    heights = _heights(kind, (SURFACE - pose[:3, 3]) @ pose[:3, :3])
    if heights is not None:
        nearest = heights.min()
        assert found.lower <= nearest <= found.distance + 0.02
    swapped = distance(probe, frame @ pose, SADDLE, frame)
    assert swapped.certified
    assert swapped.distance == pytest.approx(found.distance, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_an_overlap_has_a_bound_on_either_side(kind):
    """Bodies still overlap after a translation shorter than the proved depth; one by `lower` separates them."""
    pose = _pose((0.3, 0.2, -0.4), 0.45 * IN_CONCAVITY)
    found = distance(SADDLE, np.eye(4), PROBES[kind], pose)
    assert found.distance < 0.0
    assert found.lower <= found.distance <= found.upper
    away = pose.copy()
    away[:3, 3] += (1e-9 - found.lower) * np.asarray(found.normal)
    assert distance(SADDLE, np.eye(4), PROBES[kind], away).lower > -1e-9
    if found.upper < 0.0:
        rng = np.random.default_rng(5)
        for way in rng.normal(size=(6, 3)):
            near = pose.copy()
            near[:3, 3] -= 0.99 * found.upper * way / np.linalg.norm(way)
            assert distance(SADDLE, np.eye(4), PROBES[kind], near).lower < 0.0


@pytest.mark.parametrize("fat", [Capsule(0.4, 0.1), Torus(0.2, 0.19)], ids=["capsule", "torus"])
def test_the_core_of_a_ball_in_a_concavity_proves_no_separation(fat):
    """The core of a fat body is separate; a translation along its normal may lead into the other wall."""
    pose = _pose((0.2, 0.1, 0.7), IN_CONCAVITY)
    found = distance(SADDLE, np.eye(4), fat, pose)
    assert found.upper < 0.0
    away = pose.copy()
    away[:3, 3] += (1e-9 - found.lower) * np.asarray(found.normal)
    assert distance(SADDLE, np.eye(4), fat, away).distance > -1e-9


@pytest.mark.parametrize("at", [(0.0, 0.3, 0.0), (0.2, 0.0, 0.0), (0.3, 0.3, 0.0)])
@pytest.mark.parametrize("inside", [Capsule(0.05, 0.2), Cylinder(0.05, 0.2), Cone(0.05, 0.2), Torus(0.1, 0.02)])
def test_a_body_on_the_border_of_two_pieces_is_found_inside(inside, at):
    """The core touches the pieces above and below to rounding; neither proves a separation."""
    turn = (0.5 * np.pi, 0.0, 0.0) if not isinstance(inside, Torus) else (0.0, 0.0, 0.0)
    for frame in (np.eye(4), _pose((0.3, -0.2, 0.5), (1.0, 2.0, 3.0))):
        found = distance(SADDLE, frame, inside, frame @ _pose(turn, at))
        assert found.distance < 0.0
        assert found.upper < -0.01
        assert are_intersecting(SADDLE, frame, inside, frame @ _pose(turn, at))
