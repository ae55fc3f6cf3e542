# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Encode superovoid_interfaces/DistanceArray messages from arrays, without a loop over their fields.

The encoding is CDR, little endian (OMG CORBA 3.0, formal/2002-06-51, 15.3, with the DDSI-RTPS header): each number is
aligned to its size, counted from the end of the four-byte header. A row ends four bytes after a multiple of eight, so
every row except the first starts there, and the bytes of its names are the same in every message.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superovoid.states import StateDistances

KIND = "superovoid_interfaces/msg/DistanceArray"
_LINE = f"\n{80 * '='}\n"
DEFINITION = _LINE.join(
    (
        "std_msgs/Header header\n"
        "PairDistance[] pairs\n"
        "bool uses_joint_states\n"
        "float64 joint_state_age\n"
        "bool uses_transforms\n"
        "float64 base_pose_age\n"
        "bool stale\n"
        "uint32 pairs_considered\n"
        "uint32 past_sphere\n"
        "uint32 past_obb\n"
        "uint32 solved\n"
        "uint32 intersecting\n"
        "uint32 unproven\n"
        "float64 solve_time",
        "MSG: superovoid_interfaces/PairDistance\n"
        "uint8 CERTIFIED=0\n"
        "uint8 UNPROVEN=1\n"
        "uint8 NON_CONVEX=2\n"
        "uint8 NON_UNIQUE=4\n"
        "uint8 ARBITRARY_NORMAL=8\n"
        "uint8 PRECISION=16\n"
        "uint8 UNBOUNDED=32\n"
        "string link_a\n"
        "string link_b\n"
        "string body_a\n"
        "string body_b\n"
        "float64 distance\n"
        "float64 lower\n"
        "float64 upper\n"
        "geometry_msgs/Point point_a\n"
        "geometry_msgs/Point point_b\n"
        "geometry_msgs/Vector3 normal\n"
        "uint8 status\n"
        "uint16 iterations",
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id",
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec",
        "MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z",
        "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n",
    )
)
"""Message definition stored in the bag, so that any reader of bags can decode the messages."""

_ROW = struct.Struct("<12dBxH")
_LAST_SECOND = 2**31 - 1


@dataclass(frozen=True)
class Freshness:
    """Time stamp of a state and age of its inputs."""

    stamp: int
    """ns"""
    joint_age: float
    """s"""
    base_age: float
    """s"""
    has_joints: bool
    has_bases: bool


class DistanceMessages:
    """Encoder of the distances in one state as a message.

    Parameters
    ----------
    frame : str
        Frame of points and normals.
    bodies : sequence of (str, str)
        Name and link of each body.
    """

    def __init__(self, frame: str, bodies: Sequence[tuple[str, str]]) -> None:
        self._frame = _text(frame)
        self._bodies = [(_text(name), _text(link)) for name, link in bodies]
        self._names: dict[tuple[int, int, int], bytes] = {}

    def of_state(self, found: StateDistances, state: int, fresh: Freshness) -> bytes:
        """Return the encoded distances in a state, with rows in the order of `found`."""
        rows = range(found.first[state], found.first[state + 1])
        seconds, nanoseconds = divmod(fresh.stamp, 10**9)
        out = bytearray(struct.pack("<iI", max(-_LAST_SECOND - 1, min(seconds, _LAST_SECOND)), nanoseconds))
        _put(out, self._frame)
        _align(out, 4)
        out += struct.pack("<I", len(rows))
        part = slice(rows.start, rows.stop)
        numbers = np.column_stack(
            (
                found.distance[part],
                found.lower[part],
                found.upper[part],
                found.point_a[part],
                found.point_b[part],
                found.normal[part],
            )
        ).tolist()
        status, iterations = found.status[part].tolist(), np.clip(found.statistics.iterations[part], 0, 65535).tolist()
        pairs = zip(found.body_a[part].tolist(), found.body_b[part].tolist(), strict=True)
        for pair, values, flags, steps in zip(pairs, numbers, status, iterations, strict=True):
            out += self._encode_names(*pair, len(out) % 8)
            out += _ROW.pack(*values, int(flags), int(steps))
        out.append(fresh.has_joints)
        _align(out, 8)
        out += struct.pack("<d?", fresh.joint_age, fresh.has_bases)
        _align(out, 8)
        out += struct.pack("<d?", fresh.base_age, False)
        _align(out, 4)
        made = found.statistics
        counts = made.pairs, made.past_sphere[state], made.past_obb[state], made.solved[state]
        unproven = sum(int(flags) & 1 for flags in status)
        out += struct.pack("<6I", *map(int, counts), int(made.intersecting[state]), unproven)
        _align(out, 8)
        out += struct.pack("<d", 0.0)
        return b"\x00\x01\x00\x00" + bytes(out)

    def _encode_names(self, a: int, b: int, place: int) -> bytes:
        """Return the names of a pair with padding, for a row that starts at offset `place` (modulo 8)."""
        key = (a, b, place)
        found = self._names.get(key)
        if found is None:
            out = bytearray(place)
            for name in (self._bodies[a][1], self._bodies[b][1], self._bodies[a][0], self._bodies[b][0]):
                _put(out, name)
            _align(out, 8)
            found = self._names[key] = bytes(out[place:])
        return found


def _text(words: str) -> bytes:
    return words.encode() + b"\x00"


def _align(out: bytearray, size: int) -> None:
    out += bytes(-len(out) % size)


def _put(out: bytearray, text: bytes) -> None:
    _align(out, 4)
    out += struct.pack("<I", len(text)) + text
