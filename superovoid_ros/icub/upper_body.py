# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Generator of the model of the iCub's upper body: torso, arms and hands.

``config/icub_arm.yaml`` has the joints of torso and right arm, `superovoid_ros.icub.hand_models` the hands. From these
`write_upper_body` generates

* ``urdf/icub_upper_body.urdf``: base_link, torso, both arms, both hands; the left arm as the mirror image of the right;
* ``urdf/meshes/*.stl``: the bodies of chest and arms as triangles;
* ``config/icub_upper_body.srdf``: groups, end effectors, named states, and the pairs that need no checking.

Do not edit these files by hand: a test generates them again and compares.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from superovoid.fitting.robot_files import roll_pitch_yaw
from superovoid.robot.robot import Robot
from superovoid.robot.urdf import pose_matrix
from superovoid_ros.icub.hand_models import (
    FIGURES,
    FITS,
    SIDES,
    Body,
    HandFigures,
    body_elements,
    disable_collisions,
    hand_elements,
    hand_groups,
    join,
    materials,
    mirror,
    never_checked_pairs,
    placed_body,
)
from superovoid_ros.resources import read_yaml

ARM = "icub_arm.yaml"
ROBOT = "icub_upper_body"
WRIST = ("wrist_pitch", "wrist_yaw")
SWEEP_ARMS = "grasp_sweep_arms.yaml"
_LATERAL = np.diag([1.0, 1.0, -1.0, 1.0])
"""Mirror matrix in the frame of the shoulders' mounts, whose z axis is lateral."""
_MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])


def prefix(side: str) -> str:
    """Return the prefix of the public names of a side: ``l_`` or ``r_``."""
    return f"{side[0]}_"


class ArmFigures:
    """Figures of torso and right arm, read from a ``config`` folder."""

    def __init__(self, config: Path) -> None:
        self.figures = read_yaml(config / ARM)
        self.name = self.figures["robot"]

    def bodies(self, link: str) -> list[Body]:
        """Return the bodies of a link, named without its side; many links have none."""
        entries = self.figures["bodies"].get(link, [])
        numbered = len(entries) > 1
        return [placed_body(entry, f"{link}_{n}" if numbered else link) for n, entry in enumerate(entries)]

    def shoulder(self, side: str) -> np.ndarray:
        """Return chest_from_shoulder_1 with the joint at zero, shape (4, 4), m."""
        result = np.eye(4)
        for step in self.figures["mount"]:
            pose = pose_matrix(step["xyz"], step["rpy"])
            if side == "left" and step.get("mirrored"):
                pose = _LATERAL @ pose @ _MIRROR
            result = result @ pose
        return result


def write_upper_body(share: Path) -> list[Path]:
    """Write URDF, meshes and SRDF of the upper body.

    Parameters
    ----------
    share : Path
        Folder that contains ``config`` with the figures, the sweep's files and the hands' SRDF (`write_hands`);
        ``urdf`` is written next to it.

    Returns
    -------
    list of Path
        The written files.
    """
    config = share / "config"
    hand, arm = HandFigures(config), ArmFigures(config)
    urdf = upper_body_urdf(hand, arm)
    files = {share / "urdf" / f"{ROBOT}.urdf": urdf.encode()}
    for link in arm.figures["bodies"]:
        files |= {share / "urdf" / "meshes" / f"{body.mesh}.stl": body.stl() for body in arm.bodies(link)}
    states = named_states(hand, arm, config)
    of_hands = ElementTree.parse(config / "icub_hands.srdf").getroot().iter("disable_collisions")
    pairs = {(pair.get("link1"), pair.get("link2")): pair.get("reason") for pair in of_hands}
    within_hand = {pair: reason for pair, reason in pairs.items() if pair[0].startswith("right_")}
    srdf = upper_body_srdf(hand, arm, urdf, states, within_hand)
    files[config / f"{ROBOT}.srdf"] = srdf.encode()
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return list(files)


# ---------------------------------------------------------------------------------------------------------- URDF


def upper_body_urdf(hand: HandFigures, arm: ArmFigures) -> str:
    """Return the URDF of torso, arms and hands."""
    lines = [
        '<?xml version="1.0"?>',
        "<!-- The iCub's torso, arms and hands. Written by superovoid_ros.icub.upper_body from",
        f"     config/{ARM}, {FIGURES} and {FITS}: change those. No masses of torso and",
        "     arms are known here, so these links have none. contact_geometry is read by superovoid_ros and ignored by",
        "     other programs. -->",
        f'<robot name="{arm.name}">',
        *materials(),
        '  <material name="body"><color rgba="0.75 0.75 0.72 1"/></material>',
        '  <link name="base_link"/>',
    ]
    root = arm.figures["root_joint"]
    lines += [
        f'  <joint name="{root["name"]}" type="fixed">',
        f'    <parent link="base_link"/><child link="{root["child"]}"/>{_origin(root["xyz"], root["rpy"])}',
        "  </joint>",
        f'  <link name="{root["child"]}"/>',
        "  <!-- torso -->",
    ]
    parent = root["child"]
    for joint in arm.figures["torso"]:
        lines += _joint_element(arm, joint, joint["name"], parent, joint["child"], "right")
        lines += _link_element(hand, arm, joint["child"], joint["child"], "right", "body")
        parent = joint["child"]
    chest = parent
    for side in SIDES:
        lines.append(f"  <!-- {side} arm -->")
        parent, names = chest, prefix(side)
        for number, joint in enumerate(arm.figures["arm"]):
            shoulder = arm.shoulder(side) if number == 0 else None
            child = names + joint["child"]
            lines += _joint_element(arm, joint, names + joint["name"], parent, child, side, shoulder)
            lines += _link_element(hand, arm, child, joint["child"], side, side)
            parent = child
        lines += hand_elements(hand, side, parent=parent, joint="fixed")
    return "\n".join([*lines, "</robot>"]) + "\n"


def _joint_element(
    arm: ArmFigures,
    joint: Mapping,
    name: str,
    parent: str,
    child: str,
    side: str,
    origin: np.ndarray | None = None,
) -> Iterator[str]:
    if origin is None:
        element = _origin(*mirror(joint, side))
    else:
        element = _origin(origin[:3, 3], roll_pitch_yaw(origin[:3, :3]))
    (x, y, z), (lower, upper) = joint["axis"], joint["limits"]
    axis = (x, y, z) if side == "right" else (-x, y, -z)
    yield f'  <joint name="{name}" type="revolute">'
    yield f'    <parent link="{parent}"/><child link="{child}"/>{element}'
    yield f'    <axis xyz="{join(axis)}"/>'
    yield (
        f'    <limit lower="{lower:.10g}" upper="{upper:.10g}" effort="{arm.figures["effort"]:g}" '
        f'velocity="{arm.figures["velocity"]:g}"/>'
    )
    yield "  </joint>"


def _link_element(hand: HandFigures, arm: ArmFigures, name: str, link: str, side: str, material: str) -> Iterator[str]:
    bodies = arm.bodies(link)
    if not bodies:
        yield f'  <link name="{name}"/>'
        return
    yield f'  <link name="{name}">'
    yield from body_elements(hand.package, bodies, side, material=material)
    yield "  </link>"


def _origin(xyz: np.ndarray, rpy: np.ndarray) -> str:
    return f'<origin xyz="{join(xyz)}" rpy="{join(rpy)}"/>'


# ---------------------------------------------------------------------------------------------------------- SRDF


def named_states(hand: HandFigures, arm: ArmFigures, config: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return the named states: for each group and state, positions of the group's independent joints, rad.

    ``home``: upright, the arms hanging within the limits. ``open`` and ``bent``: hands. ``sweep_first`` and
    ``sweep_last``: the first and last frame of the grasp sweep.
    """
    arms = read_yaml(config / SWEEP_ARMS)
    thumb = read_yaml(config / "grasp_sweep.yaml")["positions"]
    states: dict[str, dict[str, dict[str, float]]] = {"torso": {}}
    states["torso"]["home"] = {joint["name"]: 0.0 for joint in arm.figures["torso"]}
    followers = {name for names in hand.figures["coupling"].values() for name in names[1:]}
    fingers = [
        joint
        for joint in (link["joint"] for _, link in hand.links())
        if "axis" in joint and joint["name"] not in followers
    ]
    frames = {"sweep_first": arms["frames"][0], "sweep_last": arms["frames"][-1]}
    for side in SIDES:
        # Zero if the limits allow it, otherwise the nearest limit.
        home = {prefix(side) + joint["name"]: float(np.clip(0.0, *joint["limits"])) for joint in arm.figures["arm"]}
        states[f"{side}_arm"] = {"home": home} | {
            state: {name: float(row[arms["joints"].index(name)]) for name in home} for state, row in frames.items()
        }
        names = [f"{side}_{joint['name']}" for joint in fingers]
        states[f"{side}_hand"] = {
            "open": dict.fromkeys(names, 0.0),
            # If bent much farther, neighbouring finger tips touch, since this model cannot spread the fingers.
            "bent": dict.fromkeys(names, 0.3),
            "sweep": {name: float(thumb[name]) for name in names},
        }
    for state, part in (("home", "home"), ("sweep_first", "sweep_first"), ("sweep_last", "sweep_last")):
        both = states["left_arm"][part] | states["right_arm"][part]
        states.setdefault("arms", {})[state] = both
        states.setdefault("upper_body", {})[state] = states["torso"]["home"] | both
    return states


def upper_body_srdf(
    hand: HandFigures, arm: ArmFigures, urdf: str, states: Mapping, within_hand: Mapping[tuple[str, str], str]
) -> str:
    """Return the SRDF: groups, named states, end effectors, the fixed base, and pairs that need no checking.

    ``within_hand`` contains these pairs of the right hand, with their reasons.
    """
    torso, last = arm.figures["torso"][-1]["child"], arm.figures["arm"][-1]["child"]
    lines = [
        '<?xml version="1.0"?>',
        "<!-- Written by superovoid_ros.icub.upper_body from the figures in config/: change those.",
        "     Groups: torso, <side>_arm, arms (both), upper_body (torso and arms); <side>_hand is the palm and the",
        "     fingers, <side>_fingers the 21 finger links without the palm. No pair of links of different sides is",
        "     disabled. -->",
        f'<robot name="{arm.name}">',
        '  <virtual_joint name="world_joint" type="fixed" parent_frame="world" child_link="base_link"/>',
        '  <group name="torso">',
        f'    <chain base_link="{arm.figures["root_joint"]["child"]}" tip_link="{torso}"/>',
        "  </group>",
    ]
    for side in SIDES:
        lines += [
            f'  <group name="{side}_arm">',
            f'    <chain base_link="{torso}" tip_link="{prefix(side)}{last}"/>',
            "  </group>",
        ]
    for group, parts in (("arms", ("left_arm", "right_arm")), ("upper_body", ("torso", "arms"))):
        lines += [f'  <group name="{group}">', *(f'    <group name="{part}"/>' for part in parts), "  </group>"]
    for side in SIDES:
        lines += hand_groups(hand, side)
    for group, named in states.items():
        for state, positions in named.items():
            lines += [
                f'  <group_state name="{state}" group="{group}">',
                *(f'    <joint name="{name}" value="{value:.6g}"/>' for name, value in positions.items()),
                "  </group_state>",
            ]
    lines += [
        f'  <end_effector name="{side}" parent_link="{prefix(side)}{last}" group="{side}_hand" '
        f'parent_group="{side}_arm"/>'
        for side in SIDES
    ]
    lines += [disable_collisions(a, b, reason) for (a, b), reason in _disabled_pairs(urdf, within_hand).items()]
    return "\n".join([*lines, "</robot>"]) + "\n"


def _disabled_pairs(urdf: str, within_hand: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return the pairs of links that need no checking, with their reasons.

    The pairs of a hand and its forearm are found by sampling the joints between them, as are the pairs within the right
    hand (`within_hand`). The left side is the mirror image of the right. Neighbours along the arm, with links without
    bodies between them, are adjacent. All other pairs can collide (arms with the chest and with each other) and are
    checked.
    """
    robot = Robot.from_urdf(urdf)
    with_bodies = [link for link in robot.links if link not in robot.links_without_geometry]
    hand = [link for link in with_bodies if link.startswith("right_")]
    fingers = [joint for joint in robot.joint_names if joint.startswith("right_")]
    wrist = [f"r_{joint}" for joint in WRIST]
    right = {
        ("chest", "r_upper_arm"): "Adjacent",
        ("r_upper_arm", "r_forearm"): "Adjacent",
        **never_checked_pairs(urdf, ["r_forearm", *hand], [*wrist, *fingers], of="r_forearm"),
        ("r_forearm", "right_palm"): "Adjacent",
        **within_hand,
    }

    def left_name(link: str) -> str:
        return f"l_{link.removeprefix('r_')}" if link.startswith("r_") else link.replace("right_", "left_", 1)

    return {(left_name(a), left_name(b)): reason for (a, b), reason in right.items()} | right
