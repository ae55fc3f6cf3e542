# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bodies of every kind in the dent of a superovoid: inside its hull, and yet apart from it."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from superovoid import (
    Body,
    Box,
    Capsule,
    Cone,
    ConvexMesh,
    Cylinder,
    Mesh,
    Scene,
    Status,
    Superovoid,
    Torus,
    are_closer,
    are_intersecting,
    distance,
)

SADDLE = Superovoid((1.0, 1.0, 1.0), section_exponent=1.9, profile_exponent=0.1, taper=(0.5, -0.5))
IN_DENT = np.array([-0.72, 0.72, 0.0])  # the hull reaches 0.29 m beyond the body here
CLEAR = 0.28

_RING = trimesh.creation.torus(0.15, 0.05, major_sections=12, minor_sections=6)
_CORNERS = np.random.default_rng(2).normal(size=(20, 3))
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
    """F + 1 of the saddle by its definition, with plain powers."""
    (e1, e2), (tx, ty) = (SADDLE.section_exponent, SADDLE.profile_exponent), SADDLE.taper
    x, y, z = points.T
    with np.errstate(invalid="ignore"):
        section = np.abs(x / (1.0 + tx * z)) ** (2.0 / e1) + np.abs(y / (1.0 + ty * z)) ** (2.0 / e1)
        value = section ** (e1 / e2) + np.abs(z) ** (2.0 / e2)
    return np.where(np.abs(z) < 1.0, value, np.inf)


def _surface():
    """Points of the surface, close together on edges, too."""
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
    """Distance of points from a probe by closed forms of their own; None where there is none."""
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_in_a_dent_is_apart_and_proved(kind, seed):
    rng = np.random.default_rng(seed)
    frame = _pose(rng.normal(size=3), rng.normal(size=3))
    probe = PROBES[kind]
    pose = _pose(rng.normal(size=3), IN_DENT + rng.uniform(-0.03, 0.03, 3))
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
def test_verdicts_of_functions_and_scenes_see_the_dent(kind):
    pose = _pose((0.3, 0.2, -0.4), IN_DENT)
    apart = distance(SADDLE, np.eye(4), PROBES[kind], pose).distance
    assert not are_intersecting(SADDLE, np.eye(4), PROBES[kind], pose)
    assert are_closer(SADDLE, np.eye(4), PROBES[kind], pose, 1.001 * apart)
    scene = Scene([Body("saddle", "a", SADDLE), Body("probe", "b", PROBES[kind])])
    scene.set_link_poses({"a": np.eye(4), "b": pose})
    assert scene.query(overlapping_only=True).distance.size == 0
    assert scene.query().distance[0] == pytest.approx(apart, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_an_overlap_has_a_bound_on_either_side(kind):
    """A translation by less than what is proved leaves the bodies in each other; one by `lower` parts them."""
    pose = _pose((0.3, 0.2, -0.4), 0.45 * IN_DENT)
    found = distance(SADDLE, np.eye(4), PROBES[kind], pose)
    assert found.distance < 0.0
    assert found.lower <= found.distance <= found.upper
    away = pose.copy()
    away[:3, 3] += (1e-9 - found.lower) * np.asarray(found.normal)
    assert distance(SADDLE, np.eye(4), PROBES[kind], away).lower > -1e-9
    if found.upper < 0.0:
        rng = np.random.default_rng(5)
        for way in rng.normal(size=(20, 3)):
            near = pose.copy()
            near[:3, 3] -= 0.99 * found.upper * way / np.linalg.norm(way)
            assert distance(SADDLE, np.eye(4), PROBES[kind], near).lower < 0.0


@pytest.mark.parametrize("fat", [Capsule(0.4, 0.1), Torus(0.2, 0.19)], ids=["capsule", "torus"])
def test_a_ball_that_touches_the_walls_of_a_dent_is_not_proved_by_its_core(fat):
    """The core of a fat body is apart; a way out along its normal may lead into the other wall."""
    pose = _pose((0.2, 0.1, 0.7), IN_DENT)
    found = distance(SADDLE, np.eye(4), fat, pose)
    assert found.upper < 0.0
    away = pose.copy()
    away[:3, 3] += (1e-9 - found.lower) * np.asarray(found.normal)
    assert distance(SADDLE, np.eye(4), fat, away).distance > -1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_no_body_in_a_dent_takes_a_search_of_hulls(kind):
    pose = _pose((0.3, 0.2, -0.4), IN_DENT)
    found = distance(SADDLE, np.eye(4), PROBES[kind], pose)
    assert found.statistics.iterations < (20_000 if kind == "mesh" else 3_000)


def test_the_hull_of_a_microscopic_dent_proves_a_deep_overlap_to_the_dent():
    """The convex body in the superovoid is smaller than its hull by 4 micrometres."""
    hardly = Superovoid((0.3, 0.5, 0.4), section_exponent=0.6, profile_exponent=0.7, taper=(0.2, 0.0))
    for kind in ("box", "cylinder", "cone", "hull"):
        found = distance(hardly, np.eye(4), PROBES[kind], _pose((0.3, 0.2, -0.4), (0.1, 0.05, -0.1)))
        assert found.distance < -0.1
        assert found.upper - found.lower < 2e-5


@pytest.mark.parametrize("kind", ["box", "capsule", "cylinder", "cone", "hull", "torus"])
def test_a_shallow_overlap_in_a_dent_is_as_deep_as_the_body_was_moved_in(kind):
    """Moved in along the normal of the gap by a little more than the gap, the body has a way out that is no longer."""
    rng = np.random.default_rng(11)
    probe, proved = PROBES[kind], 0
    for _ in range(12):
        pose = _pose(rng.normal(size=3), IN_DENT + rng.uniform(-0.03, 0.03, 3))
        apart = distance(SADDLE, np.eye(4), probe, pose)
        deep = 10.0 ** rng.uniform(-5.0, -2.0)
        pose[:3, 3] -= (apart.distance + deep) * np.asarray(apart.normal)
        found = distance(SADDLE, np.eye(4), probe, pose)
        assert found.lower <= found.distance <= found.upper
        assert found.upper >= -deep - 1e-9
        away = pose.copy()
        away[:3, 3] += (1e-7 - found.lower) * np.asarray(found.normal)
        assert distance(SADDLE, np.eye(4), probe, away).lower > 0.0
        proved += found.certified
    assert proved >= 6


def test_the_ball_at_a_contact_has_the_normal_of_the_surface():
    """A corner of a small box in a wall: the way out that is known is shorter than a ball along it says."""
    wall = Superovoid((1.0, 1.0, 1.0), section_exponent=1.5, profile_exponent=0.5, taper=(0.5, -0.5))
    box = Box((0.026986607194166616, 0.021134403894469574, 0.024731860335160356))
    pose = _pose(
        (2.55566214441411, 1.6332413431285762, -0.47518941303535683),
        (0.6782906631674712, -0.5011265836431608, -0.14589124957175703),
    )
    way = np.array([0.7924696074608886, -0.589310368108703, -0.1571789149039092])
    deep = 4.8008171192098927e-4
    found = distance(wall, np.eye(4), box, pose)
    away = pose.copy()
    away[:3, 3] += (deep + 1e-9) * way
    assert distance(wall, np.eye(4), box, away).lower > 0.0
    assert found.upper >= -deep - 1e-9


@pytest.mark.parametrize("at", [(0.0, 0.3, 0.0), (0.2, 0.0, 0.0), (0.3, 0.3, 0.0)])
@pytest.mark.parametrize("inside", [Capsule(0.05, 0.2), Cylinder(0.05, 0.2), Cone(0.05, 0.2), Torus(0.1, 0.02)])
def test_a_body_in_the_plane_where_pieces_meet_is_found_inside(inside, at):
    """The core touches the pieces above and below to rounding; neither proves the other apart."""
    turn = (0.5 * np.pi, 0.0, 0.0) if not isinstance(inside, Torus) else (0.0, 0.0, 0.0)
    for frame in (np.eye(4), _pose((0.3, -0.2, 0.5), (1.0, 2.0, 3.0))):
        found = distance(SADDLE, frame, inside, frame @ _pose(turn, at))
        assert found.distance < 0.0
        assert found.upper < -0.01
        assert are_intersecting(SADDLE, frame, inside, frame @ _pose(turn, at))


def test_points_span_a_distance_that_stays_open():
    """Sharp edges in many directions take more pieces than there is room for."""
    sharp = Superovoid((1.0, 1.0, 1.0), section_exponent=1.999999, profile_exponent=1e-6, taper=(0.5, -0.5))
    rng = np.random.default_rng(3)
    for _ in range(30):
        ring = Torus(0.1, rng.uniform(0.01, 0.09))
        pose = _pose(rng.normal(size=3), IN_DENT + rng.uniform(-0.1, 0.1, 3))
        found = distance(sharp, np.eye(4), ring, pose)
        assert found.lower <= found.distance <= found.upper
        if found.distance > 0.0:
            assert np.linalg.norm(found.point_b - found.point_a) == pytest.approx(found.distance, abs=1e-12)


def test_a_dent_is_said_of_open_intervals_alone():
    """Beside the flank of a body that has a dent elsewhere; the tolerance is that of rounding."""
    box = Box((2.4980016899229978, 2.2788085046699993, 0.5312078767600276))
    dented = Superovoid(
        (1.2165729342630232, 0.11960861817809603, 1.5453480350234865),
        section_exponent=1.7735420706879461,
        profile_exponent=0.22873122079302988,
        taper=(0.33800410796531655, -0.2988897286082213),
    )
    shapes = [(box, dented), *((probe, dented) for probe in PROBES.values())]
    rng = np.random.default_rng(4)
    said = 0
    for k in range(1500):
        a, b = shapes[k % len(shapes)]
        away = rng.normal(size=3)
        pose_a, pose_b = _pose(rng.normal(size=3)), _pose(rng.normal(size=3), rng.uniform(0.8, 2.8) * away)
        found = distance(a, pose_a, b, pose_b, rtol=1e-12)
        said += bool(found.status & Status.DENT)
        assert found.status & Status.UNPROVEN or not found.status & Status.DENT
    assert said


TOUCHING = [
    (
        Superovoid((0.6, 0.5, 0.8), section_exponent=0.5, profile_exponent=1.5, taper=(0.5, 0.5)),
        [
            *([0.30266961487263, 1.8054827345480462, 2.4386091931311866],),
            *([1.1615586433264515, -1.6207422268285903, 1.8776262997346298],),
            *([0.06249935423862158, 0.5921031920470231, 2.302913439384114],),
            *([-2.90429373026349, 0.9667233192979501, -1.2994703507159466],),
            *([2.087510629526343, -1.5809902148643156, 1.8002639927881352],),
            *([-1.5286243589373063, -1.0687578367908088, 1.212405775503539],),
            *([-4.200300962110635, -1.9256581599948845, -0.8673980492968859],),
        ],
        [
            [-0.1099517010770586, 0.15806502486681995, 0.9812879655555309, -2.2511579035521456],
            [-0.7418676190544198, 0.6439849954154043, -0.18685759679057146, 2.1793518956775366],
            [-0.6614703766827259, -0.7485310772397316, 0.04645607793969986, 0.150830113601684],
            [0.0, 0.0, 0.0, 1.0],
        ],
    ),
    (
        Superovoid((0.6, 0.5, 0.8), section_exponent=0.7, profile_exponent=0.6, taper=(0.4, -0.3)),
        [
            [-1.3979429974259234, 0.2472758963227256, 0.5653921327698295],
            [-1.1206643343833216, -0.4780215723282575, -0.25903057838845056],
            [-1.0620486237809077, -0.5636261776723249, 0.004326181086737086],
            [-0.941912476702008, -0.7537177140425911, 0.1294109354954393],
        ],
        [
            [-0.30332230822650535, 0.6483412564698476, -0.6983188329776333, 0.1038604256932281],
            [0.9504882473074876, 0.1538818211510436, -0.2699860678805083, 1.6302031580130922],
            [-0.06758453271633263, -0.7456366409172347, -0.6629165337047925, -1.0784379733885898],
            [0.0, 0.0, 0.0, 1.0],
        ],
    ),
]


@pytest.mark.parametrize(("ovoid", "corners", "pose"), TOUCHING)
def test_the_normal_at_touch_is_not_the_direction_of_rounded_points(ovoid, corners, pose):
    """The touching point of a convex body is a farthest one along the normal."""
    mesh, pose = ConvexMesh(corners), np.array(pose)
    result = distance(ovoid, np.eye(4), mesh, pose)
    assert result.certified and result.lower <= 0.0 <= result.upper
    reached = (mesh.vertices @ pose[:3, :3].T + pose[:3, 3]) @ result.normal
    assert abs(result.point_b @ result.normal - reached.min()) < 1e-8
