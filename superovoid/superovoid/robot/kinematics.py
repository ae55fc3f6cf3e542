# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics and Jacobians of a tree of joints, with arrays.

Joint i rotates or translates its child link. At position q_i, the pose of the child in the parent frame is

    parent_from_child = O_i + sin(q_i) S_i + (1 - cos(q_i)) C_i + q_i P_i,

where O is the origin of the joint, S = O K and C = O K^2 (Rodrigues; K is the cross product matrix of the axis) for
revolute joints, P = O [0 axis] for prismatic joints, and all others are zero.  Links are sorted parents before
children, so that one compiled loop over states and links computes all poses (`forward`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot import forward
from superovoid.robot.urdf import Joint
from superovoid.shapes.poses import as_pose
from superovoid.values.checks import floats
from superovoid.values.poses import PosesLike

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Positions: TypeAlias = Mapping[str, ArrayLike] | ArrayLike
"""Positions of joints, rad or m, by name or in the order of `Robot.joint_names`."""

OUTSIDE = ("floating", "planar")
"""Kinds of joints without a position: the pose of the child link is an input."""
_ROTATING = ("revolute", "continuous")


class Kinematics:
    """Kinematics of a tree of joints.

    Parameters
    ----------
    root : str
        Root link.
    links : sequence of str
        All links.
    joints : sequence of Joint
        All joints.

    Attributes
    ----------
    joint_names : tuple of str
        Independent movable joints, in the order of `joints`.
    base_links : tuple of str
        Child links of floating and planar joints, whose poses are inputs.
    """

    def __init__(self, root: str, links: Sequence[str], joints: Sequence[Joint]) -> None:
        by_child = {joint.child: joint for joint in joints}
        order, depth = _sort_by_depth(root, links, by_child)
        self._row = {link: row for row, link in enumerate(order)}
        self._links = order
        self._joints = [by_child.get(link) for link in order]  # None for row 0, the root
        count = len(order)

        self.joint_names = tuple(
            joint.name for joint in joints if joint.kind in (*_ROTATING, "prismatic") and joint.mimic is None
        )
        self.base_links = tuple(joint.child for joint in joints if joint.kind in OUTSIDE)
        self._base_rows = np.array([self._row[link] for link in self.base_links], dtype=int)

        self._origin = np.tile(np.eye(4), (count, 1, 1))
        self._sine, self._cosine, self._slide = np.zeros((3, count, 4, 4))
        # q_i = factor_i * position(source_i) + offset_i; source is an index into joint_names.
        self._source = np.zeros(count, dtype=int)
        self._factor, self._offset = np.zeros((2, count))
        self._parent = np.zeros(count, dtype=int)
        by_name = {joint.name: joint for joint in joints}
        index = {name: i for i, name in enumerate(self.joint_names)}
        for row, joint in enumerate(self._joints):
            if joint is None:
                continue
            self._parent[row] = self._row[joint.parent]
            if joint.kind in OUTSIDE:
                self._parent[row] = 0  # the input pose is in the root frame
                continue
            self._origin[row] = joint.parent_from_joint
            if joint.kind == "fixed":
                continue
            cross = np.zeros((4, 4))
            cross[:3, :3] = np.cross(np.eye(3), joint.axis)  # the rows e_i x a form the matrix of a x
            if joint.kind == "prismatic":
                translation = np.zeros((4, 4))
                translation[:3, 3] = joint.axis
                self._slide[row] = joint.parent_from_joint @ translation
            else:
                self._sine[row] = joint.parent_from_joint @ cross
                self._cosine[row] = joint.parent_from_joint @ cross @ cross
            source, factor, offset = _resolve_mimic(joint, by_name)
            self._source[row], self._factor[row], self._offset[row] = index[source], factor, offset
        levels = [np.flatnonzero(depth == level) for level in range(1, int(depth.max()) + 1)]
        self._movable = np.array(
            [joint is not None and joint.kind in (*_ROTATING, "prismatic") for joint in self._joints]
        )
        self._slides = np.array([joint is not None and joint.kind == "prismatic" for joint in self._joints])
        axes = np.array([np.zeros(3) if joint is None else joint.axis for joint in self._joints])
        # Row i marks the links on the path from link i to the root, including link i.
        self._carried_by = np.eye(count, dtype=bool)
        for rows in levels:
            self._carried_by[rows] |= self._carried_by[self._parent[rows]]
        self._per_joint = np.zeros((count, len(self.joint_names)))
        self._per_joint[self._movable, self._source[self._movable]] = self._factor[self._movable]
        kind = np.where(self._slides, forward.SLIDES, np.where(self._movable, forward.TURNS, forward.FIXED))
        kind[self._base_rows] = forward.OUTSIDE
        base = np.zeros(count, dtype=np.int64)
        base[self._base_rows] = np.arange(len(self._base_rows))
        self._last_rows: tuple[tuple[str, ...], np.ndarray] = (), np.empty(0, dtype=np.int64)
        self.tree = forward.Tree(
            self._parent,
            kind,
            self._source,
            self._factor,
            self._offset,
            self._origin,
            self._sine,
            self._cosine,
            self._slide,
            axes,
            base,
        )

    def array(self, positions: Positions) -> FloatArray:
        """Return positions as an array in the order of ``joint_names``, shape (joints,) or (states, joints).

        Other joints of a mapping are ignored. Its values are numbers, or arrays with a number for each state. An array
        is returned as it is.

        Raises
        ------
        ValueError
            If a joint is missing, arrays have different lengths, or a value is not a number.
        """
        if not isinstance(positions, Mapping):
            return np.array(floats("values", positions))
        try:
            columns = [positions[name] for name in self.joint_names]
        except KeyError:
            missing = [name for name in self.joint_names if name not in positions]
            raise ValueError(
                f"joint '{missing[0]}' is missing ({len(missing)} of {len(self.joint_names)} are)"
            ) from None
        try:
            values = floats("values", columns)
        except ValueError:  # numbers among arrays, or a value that is no number
            columns = [floats(f"joint '{name}'", each) for name, each in zip(self.joint_names, columns, strict=True)]
            values = np.array(np.broadcast_arrays(*columns))
        return values if values.ndim == 1 else np.ascontiguousarray(np.moveaxis(values, 0, -1))

    def positions(self, positions: Positions) -> FloatArray:
        """Return the positions of the independent joints as an array, in the order of ``joint_names``.

        Other joints of a mapping are ignored. An array must have that order, shape (joints,).

        Raises
        ------
        ValueError
            If a joint is missing or its position is not finite.
        """
        try:
            values = self._values(positions)
        except (TypeError, ValueError) as error:
            raise ValueError(f"positions: {error}") from error
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"positions['{self.joint_names[bad]}'] = {values[bad]}: must be finite")
        return values

    def _values(self, positions: Positions) -> FloatArray:
        values = self.array(positions)
        if values.shape != (len(self.joint_names),):
            raise ValueError(
                f"must be a mapping of joints, or an array of shape ({len(self.joint_names)},) in the order of "
                f"joint_names, found shape {values.shape}"
            )
        return values

    def poses(self, positions: Positions, base_poses: Mapping[str, PosesLike] | None) -> FloatArray:
        """Return root_from_link of every link, shape (links, 4, 4), in the order of `links`."""
        bases = np.array([_base_pose(link, base_poses) for link in self.base_links]).reshape(1, -1, 4, 4)
        return self.poses_of_states(self.positions(positions)[None], bases)[0]

    def poses_of_rows(self, positions: ArrayLike, base_poses: Mapping[str, PosesLike] | None) -> FloatArray:
        """Check positions, shape (states, joints), and return the result of `poses_of_states`.

        Raises
        ------
        ValueError
            If the shape is wrong, or a number is not finite.
        """
        try:
            rows = np.ascontiguousarray(positions, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"positions: {error}") from error
        if rows.ndim != 2 or rows.shape[1] != len(self.joint_names):
            raise ValueError(
                f"positions: must have shape (states, {len(self.joint_names)}), a column per joint, found {rows.shape}"
            )
        if not np.isfinite(rows).all():
            state, column = np.argwhere(~np.isfinite(rows))[0]
            name, found = self.joint_names[column], rows[state, column]
            raise ValueError(f"positions: joint '{name}' in state {state} = {found}: must be finite")
        bases = np.array([_base_pose(link, base_poses) for link in self.base_links]).reshape(1, -1, 4, 4)
        return self.poses_of_states(rows, bases)

    def poses_of_states(
        self, positions: np.ndarray, base_poses: np.ndarray, root_pose: np.ndarray | None = None
    ) -> FloatArray:
        """Return the pose of every link in many states, shape (states, links, 4, 4), in the order of `links`.

        Parameters
        ----------
        positions : array, shape (states, joints)
            Finite numbers, columns in the order of ``joint_names``.
        base_poses : array, shape (states, bases, 4, 4) or (1, bases, 4, 4)
            Rigid transforms in the root frame, in the order of ``base_links``, per state or for all states.
        root_pose : array, shape (4, 4), optional
            Pose of the root link in the frame of the returned poses; default: the root frame.
        """
        poses = np.empty((len(positions), len(self._links), 4, 4))
        forward.poses_of_states(self.tree, np.eye(4) if root_pose is None else root_pose, positions, base_poses, poses)
        return poses

    def rows_of(self, links: tuple[str, ...]) -> IntArray:
        """Return the rows of links in `links`, -1 for unknown links; callers must not change the array."""
        last_links, rows = self._last_rows
        if last_links != links:
            rows = np.array([self._row.get(link, -1) for link in links], dtype=np.int64)
            self._last_rows = links, rows
        return rows

    def gradients_of_states(
        self,
        poses: np.ndarray,
        first: np.ndarray,
        links: np.ndarray,
        points_a: np.ndarray,
        points_b: np.ndarray,
        normals: np.ndarray,
        with_bases: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of distances in many states with respect to joint positions and base poses.

        Parameters
        ----------
        poses : array, shape (states, links, 4, 4)
            Result of `poses_of_states`.
        first : array of int, shape (states + 1,)
            Distances first[s] to first[s + 1] - 1, counted from first[0], belong to state s.
        links : array of int, shape (distances, 2)
            Rows in `links` of the links of both bodies, -1 for a body that no joint moves.
        points_a, points_b, normals : array, shape (distances, 3)
            In the frame of the poses, normals from body a to body b.
        with_bases : bool
            Whether to compute the derivatives with respect to the bases.

        Returns
        -------
        by_joint : array, shape (distances, joints)
        by_base : array, shape (distances, bases, 6)
            Derivatives with respect to twists (linear; angular) about the origins of the base links, in the axes of the
            poses; shape (distances, 0, 6) without `with_bases`.
        """
        by_joint = np.zeros((len(links), len(self.joint_names)))
        by_base = np.zeros((len(links), len(self.base_links) if with_bases else 0, 6))
        contacts = (np.ascontiguousarray(array) for array in (links, points_a, points_b, normals))
        forward.gradients_of_states(self.tree, poses, first, *contacts, by_joint, by_base)
        return by_joint, by_base

    def motions_of_points(
        self, poses: np.ndarray, rows: np.ndarray, points: np.ndarray, normals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocities of points fixed to links, and their second derivatives along normals.

        Parameters
        ----------
        poses : array, shape (n, links, 4, 4)
            Poses of the links in the state of each point.
        rows : array of int, shape (n,)
            Row in `links` of the link of each point, -1 if no joint moves it.
        points, normals : array, shape (n, 3)

        Returns
        -------
        motions : array, shape (n, 6, joints)
            Linear velocity of the point and angular velocity of the link, per unit of joint velocity.
        bending : array, shape (n, joints, joints)
            Second derivative of the position of the point by joint positions, along the normal.
        """
        axes = np.einsum("nlij,lj->nli", poses[:, :, :3, :3], self.tree.axis)
        moves = (self._carried_by[rows] & self._movable & (rows >= 0)[:, None])[:, :, None]
        turns = np.where(moves & ~self._slides[:, None], axes, 0.0)
        slides = np.where(moves & self._slides[:, None], axes, 0.0)
        linear = np.cross(turns, points[:, None] - poses[:, :, :3, 3]) + slides
        # A joint turns the velocities that the joints below it cause; parents come before children.
        twice = np.triu(np.einsum("nli,nmi->nlm", np.cross(normals[:, None], turns), linear))
        twice += np.triu(twice, 1).mT
        return np.concatenate([linear, turns], axis=2).mT @ self._per_joint, self._per_joint.T @ twice @ self._per_joint

    @property
    def links(self) -> list[str]:
        """All links, parents before children: the rows of `poses`."""
        return self._links

    def jacobian(
        self,
        link: str,
        point: np.ndarray,
        positions: Positions,
        base_poses: Mapping[str, PosesLike] | None,
    ) -> FloatArray:
        """Return the Jacobian of ``point`` (root frame) fixed to ``link``, shape (6, joints); linear part first."""
        poses = self.poses(positions, base_poses)
        result = np.zeros((6, len(self.joint_names)))
        row = self._row[link]
        while row != 0:
            joint = self._joints[row]
            if joint is not None and self._movable[row]:  # the root has no joint
                axis = poses[row, :3, :3] @ joint.axis
                column = np.zeros(6)
                if joint.kind == "prismatic":
                    column[:3] = axis
                else:
                    column[:3], column[3:] = np.cross(axis, point - poses[row, :3, 3]), axis
                result[:, self._source[row]] += self._factor[row] * column
            row = self._parent[row]
        return result

    def levers(
        self, links: Sequence[str], reach: np.ndarray, ranges: Mapping[str, tuple[float, float]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return upper bounds of the speed of points due to the joints between the root and their link.

        Parameters
        ----------
        links : sequence of str
            Link of each point.
        reach : array, shape (n,)
            Largest distance of each point from the origin of its link, m.
        ranges : mapping of str to (float, float)
            Least and greatest position of each independent joint for which the bounds hold, rad or m.

        Returns
        -------
        levers : array, shape (n, links)
            Speed per unit speed of the joint above each link, in the order of `links`, with mimicking joints counted
            separately; m/rad or m/m.
        moved : array of bool, shape (n, links)
            Whether the joint above that link moves the point.
        """
        span = np.array([ranges[name] for name in self.joint_names]).reshape(-1, 2)
        # Largest distance of the origin of each link from that of its parent.
        lengths = np.linalg.norm(self._origin[:, :3, 3], axis=1)
        slides = self._slides
        ends = self._factor[slides, None] * span[self._source[slides]] + self._offset[slides, None]
        lengths[slides] += np.abs(ends).max(axis=1)
        # Largest distance of the origin of link i from that of link j above it; parents come before children.
        between = np.zeros((len(lengths), len(lengths)))
        for row, length in enumerate(lengths[1:], 1):
            parent = self._parent[row]
            between[row] = np.where(self._carried_by[parent], between[parent] + length, 0.0)
        rows = np.array([self._row[link] for link in links], dtype=int)
        moved = self._carried_by[rows] & self._movable
        far = np.asarray(reach)[:, None] + between[rows]
        return np.where(moved, np.where(slides, 1.0, far), 0.0), moved

    def by_joint(self, by_link: np.ndarray) -> np.ndarray:
        """Sum values per link (n, links) over the joints driven by each independent joint: shape (n, joints)."""
        weights = np.abs(self._per_joint)
        # Not a matrix product: values of unrelated joints may be infinite, and 0 * inf is nan.
        columns = [by_link[:, column > 0.0] @ column[column > 0.0] for column in weights.T]
        return np.stack(columns, axis=1) if columns else np.empty((len(by_link), 0))


def _sort_by_depth(root: str, links: Sequence[str], by_child: Mapping[str, Joint]) -> tuple[list[str], np.ndarray]:
    """Sort links by their depth, the number of joints up to the root or a base link; return links and depths."""
    depth = {root: 0}
    for link in links:
        path = []
        while link not in depth:
            path.append(link)
            joint = by_child[link]
            link = root if joint.kind in OUTSIDE else joint.parent
        for number, below in enumerate(reversed(path)):
            depth[below] = depth[link] + 1 + number
    order = sorted(links, key=depth.__getitem__)  # stable: keeps the order of the document for equal depths
    return order, np.array([depth[link] for link in order])


def _resolve_mimic(joint: Joint, by_name: Mapping[str, Joint]) -> tuple[str, float, float]:
    """Return the independent joint at the end of a mimic chain, with the factor and offset of the whole chain."""
    factor, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += factor * joint.mimic.offset
        factor *= joint.mimic.multiplier
        joint = by_name[joint.mimic.joint]
    return joint.name, factor, offset


def _base_pose(link: str, base_poses: Mapping[str, PosesLike] | None) -> np.ndarray:
    if base_poses is None or link not in base_poses:
        raise ValueError(
            f"base_poses: the pose of '{link}' is missing (its joint is floating, so its pose is an input)"
        )
    return as_pose(f"base_poses['{link}']", base_poses[link])
