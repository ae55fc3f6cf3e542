# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generator of the models of the iCub's hands, from one set of figures.

``config/icub_hand.yaml`` has the right hand's joints, parts and palm, ``config/icub_hand_fits.yaml`` the bodies fitted
to its links. From these `write_hands` generates

* ``urdf/icub_hands.urdf``: both hands under a root link ``world``, the left as the mirror image of the right;
* ``urdf/meshes/*.stl``: the bodies as triangles, for programs that read only meshes; both hands use the same files,
because each body is its own mirror image;
* ``config/icub_hands.srdf``: the groups, and the pairs of links that need no checking, found by sampling.

Do not edit these files by hand: a test generates them again and compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
import trimesh

from superovoid.robot.robot import Robot
from superovoid.robot.urdf import pose_matrix, read_urdf
from superovoid.shapes import Ellipsoid, Superellipsoid, Superovoid
from superovoid_ros.resources import read_yaml

FIGURES, FITS = "icub_hand.yaml", "icub_hand_fits.yaml"
SIDES = ("left", "right")
_COLOURS = {"left": "0.35 0.65 0.35 1", "right": "0.25 0.45 0.75 1"}
_SHAPES = {
    "superovoid": (Superovoid.from_goncalves, ("size", "epsilon", "taper")),
    "superellipsoid": (Superellipsoid.from_goncalves, ("size", "epsilon")),
    "ellipsoid": (Ellipsoid, ("size",)),
}
_GRID = 1e-7
"""Grid to which mesh vertices are rounded, m, so that they do not depend on the last bit of a power."""

_SAMPLES = 3000
_CLEAR = 2e-3
"""Distance, m, at which a pair in all samples counts as never in collision: a margin for postures between the samples.
"""


@dataclass(frozen=True)
class Body:
    """A body of a link of the right hand, with the element name (``tag``) and figures of the URDF."""

    tag: str
    figures: Mapping[str, Sequence[float]]
    mesh: str
    representation: str | None = None
    mixed: bool = False

    @property
    def solid(self) -> bool:
        """True if the body belongs to the mixed representation, which defines visuals, meshes and masses."""
        return self.representation is None or self.mixed

    def shape(self) -> Superovoid:
        """Return the shape of the body, in its own frame."""
        make, names = _SHAPES[self.tag]
        return make(*(self.figures[name] for name in names))

    def triangles(self) -> trimesh.Trimesh:
        """Return the body as triangles in its own frame, with vertices on a grid of 0.1 micrometres."""
        mesh = self.shape().tessellate()
        return trimesh.Trimesh(np.round(mesh.vertices / _GRID) * _GRID, mesh.faces, process=False)

    def stl(self) -> bytes:
        """Return the body's triangles as binary STL."""
        return _stl(self.triangles())


def placed_body(entry: Mapping[str, Mapping], mesh: str) -> Body:
    """Return a body from ``{kind: figures, xyz: ..., rpy: ...}``, the same in every representation."""
    tag = next(name for name in entry if name not in ("xyz", "rpy"))
    return Body(tag, {**entry[tag], "xyz": entry["xyz"], "rpy": entry["rpy"]}, mesh)


class HandFigures:
    """Figures and fits of the right hand, read from a ``config`` folder."""

    def __init__(self, config: Path) -> None:
        self.figures = read_yaml(config / FIGURES)
        self._fits = read_yaml(config / FITS)["links"]
        self.name, self.package = self.figures["robot"], self.figures["package"]

    def links(self) -> Iterator[tuple[str, Mapping]]:
        """Yield the finger and figures of every finger link, from the base of each finger to its tip."""
        for finger, chain in self.figures["fingers"].items():
            for link in chain["links"]:
                yield finger, link

    def bodies(self, link: str) -> list[Body]:
        """Return the bodies of a link, named without its side; all bodies of the palm are in every representation."""
        if link == "palm":
            return [placed_body(body, f"palm_{number}") for number, body in enumerate(self.figures["palm"])]
        mixed = next(figures.get("mixed", "superellipsoid") for _, figures in self.links() if figures["name"] == link)
        return [
            Body(kind, fit, link, representation=kind, mixed=kind == mixed) for kind, fit in self._fits[link].items()
        ]

    def solids(self, link: str) -> list[Body]:
        """Return the bodies of the mixed representation, which have a visual, a mesh and a mass."""
        return [body for body in self.bodies(link) if body.solid]


def write_hands(share: Path) -> list[Path]:
    """Write the URDF, the meshes and the SRDF of both hands.

    Parameters
    ----------
    share : path
        Folder that contains ``config`` with the figures; ``urdf`` is written next to it.

    Returns
    -------
    list of path
        The written files.
    """
    hand = HandFigures(share / "config")
    urdf = hands_urdf(hand)
    files = {share / "urdf" / "icub_hands.urdf": urdf.encode()}
    files |= {share / "urdf" / "meshes" / name: data for name, data in hand_meshes(hand).items()}
    files[share / "config" / "icub_hands.srdf"] = hands_srdf(hand, urdf).encode()
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return list(files)


# -------------------------------------------------------------------------------------------------------- meshes


def hand_meshes(hand: HandFigures) -> dict[str, bytes]:
    """Return the bodies of the mixed representation as binary STL, by file name."""
    links = ["palm", *(figures["name"] for _, figures in hand.links())]
    return {f"{body.mesh}.stl": body.stl() for link in links for body in hand.solids(link)}


def _stl(mesh: trimesh.Trimesh) -> bytes:
    """Return a mesh as binary STL: 80 bytes of header, the number of triangles, the normal and corners of each."""
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 0.0, normals / np.maximum(lengths, 1e-300), 0.0)
    rows = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    rows["normal"], rows["corners"] = np.round(normals, 5), corners
    return b"superovoid_ros, metres".ljust(80) + np.uint32(len(rows)).tobytes() + rows.tobytes()


# ---------------------------------------------------------------------------------------------------------- URDF


def hands_urdf(hand: HandFigures) -> str:
    """Return the URDF of both hands."""
    lines = [
        '<?xml version="1.0"?>',
        f"<!-- Both hands of the iCub. Written by superovoid_ros.icub.hand_models from config/{FIGURES} and {FITS}:",
        "     change those. contact_geometry is read by superovoid_ros and ignored by other programs. -->",
        f'<robot name="{hand.name}">',
        *materials(),
        '  <link name="world"/>',
    ]
    for side in SIDES:
        # The palm's pose comes from TF, since the arms move the hands.
        lines += hand_elements(hand, side, parent="world", joint="floating")
    return "\n".join([*lines, "</robot>"]) + "\n"


def materials() -> list[str]:
    """Return the URDF elements of the colours of both sides."""
    return [f'  <material name="{side}"><color rgba="{_COLOURS[side]}"/></material>' for side in SIDES]


def hand_elements(hand: HandFigures, side: str, *, parent: str, joint: str) -> Iterator[str]:
    """Yield the URDF elements of one hand; a joint of the type `joint` connects its palm to `parent`."""
    yield f"  <!-- {side} hand -->"
    yield f'  <joint name="{side}_palm_joint" type="{joint}">'
    yield f'    <parent link="{parent}"/><child link="{side}_palm"/>'
    yield "  </joint>"
    yield from _link_element(hand, side, "palm")
    base = hand.figures["fingers_base"]
    yield f'  <joint name="{side}_fingers_base_joint" type="fixed">'
    yield f'    <parent link="{side}_palm"/><child link="{side}_fingers_base"/>{_origin(base, side)}'
    yield "  </joint>"
    yield f'  <link name="{side}_fingers_base"/>'
    masters = _masters(hand)
    parent, last_finger = "", ""
    for finger, link in hand.links():
        if finger != last_finger:
            parent, last_finger = "fingers_base", finger
        joint, name = link["joint"], link["name"]
        kind = "revolute" if "axis" in joint else "fixed"
        yield f'  <joint name="{side}_{joint["name"]}" type="{kind}">'
        yield f'    <parent link="{side}_{parent}"/><child link="{side}_{name}"/>{_origin(joint, side)}'
        if kind == "revolute":
            lower, upper = joint["limits"]
            x, y, z = joint["axis"]
            axis = (x, y, z) if side == "right" else (-x, y, -z)
            yield f'    <axis xyz="{join(axis)}"/>'
            yield (
                f'    <limit lower="{lower:.10g}" upper="{upper:.10g}" effort="{hand.figures["effort"]:g}" '
                f'velocity="{hand.figures["velocity"]:g}"/>'
            )
            if joint["name"] in masters:
                yield f'    <mimic joint="{side}_{masters[joint["name"]]}" multiplier="1" offset="0"/>'
        yield "  </joint>"
        yield from _link_element(hand, side, name)
        parent = name


def _link_element(hand: HandFigures, side: str, link: str) -> Iterator[str]:
    yield f'  <link name="{side}_{link}">'
    yield from _inertial(hand, side, link)
    yield from body_elements(hand.package, hand.bodies(link), side, material=side)
    yield "  </link>"


def body_elements(package: str, bodies: Sequence[Body], side: str, *, material: str) -> Iterator[str]:
    """Yield the URDF elements of a link's bodies: meshes for other programs, contact geometry for this package."""
    for body in bodies:
        if not body.solid:
            continue
        geometry = f'<geometry><mesh filename="package://{package}/urdf/meshes/{body.mesh}.stl"/></geometry>'
        origin = _origin(body.figures, side)
        yield f'    <visual>{origin}{geometry}<material name="{material}"/></visual>'
        yield f"    <collision>{origin}{geometry}</collision>"
    for body in bodies:
        kind = f' representation="{body.representation}"' if body.representation else ""
        mixed = ' mixed="true"' if body.mixed else ""
        yield f"    <contact_geometry{kind}{mixed}>"
        yield f"      {_origin(body.figures, side)}"
        parameters = " ".join(f'{name}="{join(body.figures[name])}"' for name in _SHAPES[body.tag][1])
        yield f"      <{body.tag} {parameters}/>"
        yield "    </contact_geometry>"


def _inertial(hand: HandFigures, side: str, link: str) -> Iterator[str]:
    """Yield the inertial element: mass, centre and inertia of the convex hull of the link's bodies."""
    placed = [
        trimesh.transform_points(body.triangles().vertices, _pose(body.figures, side)) for body in hand.solids(link)
    ]
    hull = trimesh.convex.convex_hull(np.concatenate(placed))
    hull.density = hand.figures["density"]
    inertia = hull.moment_inertia
    yield "    <inertial>"
    yield f'      <origin xyz="{" ".join(_round_text(value, 1e-7) for value in hull.center_mass)}" rpy="0 0 0"/>'
    yield f'      <mass value="{hull.mass:.5g}"/>'
    # Round to a thousandth of the largest moment; the density is known less precisely.
    step = 1e-3 * float(f"{np.abs(inertia).max():.1g}")
    names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    yield "      <inertia " + " ".join(f'{name}="{_round_text(inertia[i, j], step)}"' for name, i, j in names) + "/>"
    yield "    </inertial>"


def _masters(hand: HandFigures) -> dict[str, str]:
    """Return the master of each coupled joint: the first of the joints that one motor drives."""
    return {follower: names[0] for names in hand.figures["coupling"].values() for follower in names[1:]}


def mirror(figures: Mapping[str, Sequence[float]], side: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return xyz and rpy for a side: those of M T M with M = diag(1, -1, 1) on the left."""
    (x, y, z), (roll, pitch, yaw) = figures["xyz"], figures["rpy"]
    return ((x, y, z), (roll, pitch, yaw)) if side == "right" else ((x, -y, z), (-roll, pitch, -yaw))


def _pose(figures: Mapping[str, Sequence[float]], side: str) -> np.ndarray:
    return pose_matrix(*mirror(figures, side))


def _origin(figures: Mapping[str, Sequence[float]], side: str) -> str:
    xyz, rpy = mirror(figures, side)
    return f'<origin xyz="{join(xyz)}" rpy="{join(rpy)}"/>'


def join(values: Sequence[float]) -> str:
    """Return numbers as text for the URDF."""
    return " ".join(f"{value + 0.0:.10g}" for value in values)  # + 0.0 makes 0 of -0


def _round_text(value: float, step: float) -> str:
    return f"{round(value / step) * step + 0.0:.6g}"


# ---------------------------------------------------------------------------------------------------------- SRDF


def hands_srdf(hand: HandFigures, urdf: str) -> str:
    """Return the SRDF: groups, end effectors, and pairs that need no checking."""
    lines = [
        '<?xml version="1.0"?>',
        f"<!-- Written by superovoid_ros.icub.hand_models from config/{FIGURES} and {FITS}: change those.",
        "     Groups: <side>_hand is the palm and the fingers, <side>_fingers the 21 finger links without the palm.",
        "     No pair of links of different hands is disabled. -->",
        f'<robot name="{hand.name}">',
    ]
    for side in SIDES:
        lines += hand_groups(hand, side)
    lines += [f'  <end_effector name="{side}" parent_link="{side}_palm" group="{side}_fingers"/>' for side in SIDES]
    # The left hand is the mirror image, so the pairs of the right hand apply to both.
    robot = Robot.from_urdf(urdf)
    links = [link for link in robot.links if link.startswith("right_") and link not in robot.links_without_geometry]
    joints = [joint for joint in robot.joint_names if joint.startswith("right_")]
    reasons = never_checked_pairs(urdf, links, joints)
    for side in SIDES:
        lines += [
            disable_collisions(a.replace("right", side, 1), b.replace("right", side, 1), reason)
            for (a, b), reason in reasons.items()
        ]
    return "\n".join([*lines, "</robot>"]) + "\n"


def hand_groups(hand: HandFigures, side: str) -> Iterator[str]:
    """Yield the SRDF groups of one hand."""
    fingers = {finger: chain["links"][-1]["name"] for finger, chain in hand.figures["fingers"].items()}
    for finger, tip in fingers.items():
        yield f'  <group name="{side}_{finger}">'
        yield f'    <chain base_link="{side}_fingers_base" tip_link="{side}_{tip}"/>'
        yield "  </group>"
    yield f'  <group name="{side}_fingers">'
    yield from (f'    <group name="{side}_{finger}"/>' for finger in fingers)
    yield "  </group>"
    yield f'  <group name="{side}_hand">'
    yield f'    <link name="{side}_palm"/>'
    yield f'    <group name="{side}_fingers"/>'
    yield "  </group>"


def disable_collisions(link_a: str, link_b: str, reason: str) -> str:
    """Return the SRDF element of a pair that needs no checking."""
    return f'  <disable_collisions link1="{link_a}" link2="{link_b}" reason="{reason}"/>'


def never_checked_pairs(
    urdf: str, links: Sequence[str], joints: Sequence[str], of: str | None = None
) -> dict[tuple[str, str], str]:
    """Return pairs of links that need no checking, with the reasons as MoveIt names them.

    Adjacent: at most one moving joint is between the links. Default: they overlap with all joints at zero. Always: they
    overlap in every sample. Never: their distance stays large in every sample. The samples are the corners of the
    joints' ranges and random postures. Only the mixed representation is sampled: the others differ from it by less than
    the required distance.

    Parameters
    ----------
    urdf : str
        URDF of the robot.
    links : sequence of str
        Links whose pairs are tested, in the order of the names in the result.
    joints : sequence of str
        Moving joints between them; all others stay at zero.
    of : str, optional
        If set, test only the pairs of this link.

    Returns
    -------
    dict of (str, str) to str
        Reason for each pair that needs no checking.
    """
    robot = Robot.from_urdf(urdf)
    lower, upper = np.array([robot.joint_limits[joint] for joint in joints]).T
    random = np.random.default_rng(0).uniform(lower, upper, (_SAMPLES, len(joints)))
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    samples = np.vstack([np.zeros(len(joints)), corners, random])

    moving = _moving_joints(urdf)

    def joints_between(a: str, b: str) -> int:
        return len(moving[a] ^ moving[b])

    index = {frozenset(pair): number for number, pair in enumerate(combinations(links, 2))}
    nearest = np.full((len(samples), len(index)), np.inf)
    scene, pairs = robot.scene(), robot.body_pairs(links if of is None else [of], links)
    rest, bases = dict.fromkeys(robot.joint_names, 0.0), {base: np.eye(4) for base in robot.base_links}
    for number, values in enumerate(samples):
        scene.set_link_poses(robot.forward_kinematics({**rest, **dict(zip(joints, values, strict=True))}, bases))
        result = scene.query(max_distance=_CLEAR, pairs=pairs)
        for a, b, distance in zip(result.body_a, result.body_b, result.distance, strict=True):
            pair = index[frozenset((robot.bodies[a].link, robot.bodies[b].link))]
            nearest[number, pair] = min(nearest[number, pair], distance)
    reasons = {}
    for (a, b), column in zip(combinations(links, 2), nearest.T, strict=True):
        if of not in (None, a, b):
            continue
        if joints_between(a, b) <= 1:
            reason = "Adjacent"
        elif column[0] < 0.0:
            reason = "Default"
        elif column.max() < 0.0:
            reason = "Always"
        elif column.min() > _CLEAR:
            reason = "Never"
        else:
            continue
        reasons[a, b] = reason
    return reasons


def _moving_joints(urdf: str) -> dict[str, frozenset[str]]:
    """Return the moving joints between the root and each link."""
    description = read_urdf(urdf)
    by_child = {joint.child: joint for joint in description.joints}
    result = {}
    for link in description.links:
        joints, above = set(), link
        while above in by_child:
            joint = by_child[above]
            if joint.kind != "fixed":
                joints.add(joint.name)
            above = joint.parent
        result[link] = frozenset(joints)
    return result
