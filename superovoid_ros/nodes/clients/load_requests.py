# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests to the distance service as a load test sends them: about states of two hands, nonsense, and huge ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation
from superovoid_interfaces.srv import GetDistances, GetMinDistance, GetPenetration

from superovoid_ros.nodes.clients.timed_calls import Call
from superovoid_ros.nodes.common.conversions import to_transform

_KINDS = {"get_min_distance": GetMinDistance, "get_penetration": GetPenetration, "get_distances": GetDistances}


def call(service: str, **fields: object) -> Call:
    """Return a call of one of the node's services, fields of its request by name."""
    kind = _KINDS[service]
    return Call(f"distance_service/{service}", kind, kind.Request(**fields))


def about_state(service: str, groups: tuple[str, str], base_poses: Mapping[str, np.ndarray], **fields: object) -> Call:
    """Return a call about the state that is measured; with joint names and positions, about that one."""
    poses = [to_transform("world", link, pose, Time()) for link, pose in base_poses.items()]
    return call(service, links_a=[groups[0]], links_b=[groups[1]], base_poses=poses, **fields)


def about_states(
    groups: tuple[str, str],
    positions: Sequence[Mapping[str, float]],
    base_poses: Sequence[Mapping[str, np.ndarray]],
    max_distance: float,
) -> Call:
    """Return a call of `get_distances` about several states, each with the same joints and base links."""
    names, links = list(positions[0]), list(base_poses[0])
    poses = [
        (*state[link][:3, 3], *Rotation.from_matrix(state[link][:3, :3]).as_quat())
        for state in base_poses
        for link in links
    ]
    return call(
        "get_distances",
        links_a=[groups[0]],
        links_b=[groups[1]],
        max_distance=max_distance,
        joint_names=names,
        joint_positions=[state[name] for state in positions for name in names],
        base_links=links,
        base_poses=np.ravel(poses).tolist(),
    )


def garbage() -> list[Call]:
    """Return calls that make no sense."""
    bent = to_transform("world", "right_palm", np.eye(4), Time())
    bent.transform.rotation.w = 7.0
    lost = to_transform("world", "right_palm", np.eye(4), Time())
    lost.transform.translation.x = math.nan
    fields = (
        {"links_a": ["no such link"]},
        {"links_a": [""], "links_b": ["left_fingers"]},
        {"links_a": ["\n\t\u2603" * 50]},
        {"links_a": ["left_palm"], "links_b": ["left_palm"]},
        {"joint_names": ["left_tj4"]},
        {"joint_positions": [0.0]},
        {"joint_names": ["left_tj4"], "joint_positions": [math.nan]},
        {"joint_names": ["left_tj4"], "joint_positions": [-math.inf]},
        {"joint_names": ["left_tj4", "left_tj4"], "joint_positions": [0.0, 0.0]},
        {"joint_names": ["elbow"], "joint_positions": [0.0]},
        {"base_poses": [bent]},
        {"base_poses": [lost]},
        {"base_poses": [to_transform("nowhere", "right_palm", np.eye(4), Time())]},
        {"base_poses": [to_transform("world", "nothing", np.eye(4), Time())]},
    )
    many = (
        {"links_a": ["no such link"]},
        {"joint_names": ["left_tj4"], "joint_positions": []},
        {"joint_names": ["left_tj4", "right_tj4"], "joint_positions": [0.0, 0.0, 0.0]},
        {"joint_names": ["left_tj4"], "joint_positions": [math.nan]},
        {"base_links": ["right_palm"], "base_poses": [0.0] * 7},
        {"base_links": ["right_palm"], "base_poses": [0.0] * 3},
        {"max_distance": math.nan},
        {"deadline": -1.0},
    )
    return [
        *(call(service, **one) for one in fields for service in ("get_min_distance", "get_penetration")),
        *(call("get_distances", **one) for one in many),
        *(call("get_min_distance", max_distance=value) for value in (-1.0, math.nan, -math.inf)),
    ]


def huge(size: int = 100_000) -> list[Call]:
    """Return calls as nobody should make them, of a few megabytes each."""
    names = [f"joint_{number}" for number in range(size)]
    fields = (
        {"links_a": names},
        {"links_a": ["x" * 2**22]},
        {"joint_names": names, "joint_positions": [0.0] * size},
        {"joint_names": ["left_tj4"] * size, "joint_positions": [0.0] * size},
        {"base_poses": [to_transform("world", "right_palm", np.eye(4), Time())] * (size // 10)},
    )
    return [call("get_min_distance", **one) for one in fields]
