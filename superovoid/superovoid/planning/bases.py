# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Replace floating joints in a URDF by chains of joints that a planner can move.

A planner moves joints. A floating palm therefore gets a chain of joints, as many as the task leaves free; a robot whose
arms are part of its URDF does not need this.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from superovoid.robot.errors import RobotDescriptionError
from superovoid.robot.xml import parse_document
from superovoid.shapes.poses import as_poses
from superovoid.values.poses import PoseLike


@dataclass(frozen=True)
class BaseJoint:
    """One joint of the chain that carries a base; ``axis`` (3,) is in the frame after the preceding joints."""

    name: str
    kind: str
    """"prismatic" or "revolute"."""
    axis: tuple[float, float, float]
    lower: float
    """m or rad"""
    upper: float

    def __post_init__(self) -> None:
        if self.kind not in ("prismatic", "revolute"):
            raise ValueError(f"BaseJoint {self.name!r}: kind = {self.kind!r}: must be prismatic or revolute")
        if not (np.isfinite([self.lower, self.upper]).all() and self.lower < self.upper):
            raise ValueError(f"BaseJoint {self.name!r}: limits {self.lower} to {self.upper}: must be finite, ascending")


def with_base_joints(
    urdf: str,
    base_link: str,
    joints: Sequence[BaseJoint],
    parent_from_first: PoseLike | None = None,
    last_from_base: PoseLike | None = None,
) -> str:
    """Replace the floating joint above a link by a chain of joints.

    Parameters
    ----------
    urdf : str
        URDF document.
    base_link : str
        Child of a floating joint.
    joints : sequence of BaseJoint
        Joints from the parent to the base, at least one.
    parent_from_first, last_from_base : array, shape (4, 4), optional
        Fixed transforms before the first and after the last joint, m; default: identity.

    Returns
    -------
    str
        The URDF with the chain; the links between the joints are called ``<joint>_link`` and have no geometry.

    Raises
    ------
    RobotDescriptionError
        If the document is malformed or no floating joint carries the link.
    ValueError
        If there are no joints, or a transform is invalid.
    """
    if not joints:
        raise ValueError("joints: is empty, expected at least one")
    document = parse_document(urdf, "URDF", "robot")
    found = [
        joint
        for joint in document.findall("joint")
        if joint.get("type") == "floating" and _link_at(joint, "child") == base_link
    ]
    if not found:
        raise RobotDescriptionError(f"URDF: link '{base_link}': no floating joint carries it")
    floating = found[0]
    parent, place = _link_at(floating, "parent"), list(document).index(floating)
    document.remove(floating)
    origin = np.eye(4) if parent_from_first is None else as_poses("parent_from_first", parent_from_first)
    elements = []
    for joint in joints:
        child = f"{joint.name}_link"
        element = _joint(joint.name, joint.kind, parent, child, origin)
        ET.SubElement(element, "axis", xyz=_text(joint.axis))
        limits = {"lower": _text([joint.lower]), "upper": _text([joint.upper])}
        ET.SubElement(element, "limit", limits, effort="1", velocity="1")
        elements += [element, ET.Element("link", name=child)]
        parent, origin = child, np.eye(4)
    end = np.eye(4) if last_from_base is None else as_poses("last_from_base", last_from_base)
    elements.append(_joint(f"{base_link}_mount", "fixed", parent, base_link, end))
    for number, element in enumerate(elements):
        document.insert(place + number, element)
    return ET.tostring(document, encoding="unicode")


def _link_at(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else element.get("link", "")


def _joint(name: str, kind: str, parent: str, child: str, origin: np.ndarray) -> ET.Element:
    from scipy.spatial.transform import Rotation  # imported late because it is slow and most programs do not need it

    element = ET.Element("joint", name=name, type=kind)
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    rpy = Rotation.from_matrix(origin[:3, :3]).as_euler("xyz")
    ET.SubElement(element, "origin", xyz=_text(origin[:3, 3]), rpy=_text(rpy))
    return element


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
