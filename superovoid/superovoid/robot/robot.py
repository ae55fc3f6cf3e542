# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robot model: bodies on links, pairs of bodies to check, forward kinematics and derivatives of distances.

Transforms are named like ``root_from_link``, the matrix (4, 4) that maps link coordinates to root coordinates.
Units: metres, radians.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.contact.differentiation import DerivativeStatus
from superovoid.contact.second_derivatives import second_derivatives
from superovoid.robot.errors import LimitError, RobotDescriptionError
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.groups import Group, read_group
from superovoid.robot.kinematics import OUTSIDE, Kinematics, Positions
from superovoid.robot.limits import MOST_PAIRS
from superovoid.robot.rules import CollisionRules
from superovoid.robot.srdf import Semantics, VirtualJoint, read_srdf
from superovoid.robot.urdf import Description, Joint, Mimic, read_urdf
from superovoid.robot.xml import join_names, shorten
from superovoid.scene import Body, Scene, SceneResult
from superovoid.scene.results import PairResults
from superovoid.values import html
from superovoid.values.checks import random_generator, whole_number
from superovoid.values.poses import PosesLike
from superovoid.values.records import Record
from superovoid.values.status import differentiable_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

if TYPE_CHECKING:
    from superovoid.viewing.serving import Viewer


@dataclass(frozen=True, eq=False, repr=False)
class DistanceGradients(Record):
    """Derivatives of signed distances with respect to joint positions and base poses, one row per pair."""

    by_joint: FloatArray
    """Derivatives with respect to joint positions, shape (pairs, joints), m/rad or m/m. A column includes the effect of
    joints that mimic its joint."""
    joint_names: tuple[str, ...]
    """Columns of `by_joint`: `Robot.joint_names`."""
    by_base: FloatArray
    """Derivatives with respect to the twist (linear; angular) of each base link about the origin of its frame, in the
    axes of the root frame, shape (pairs, bases, 6), m/m and m/rad."""
    base_links: tuple[str, ...]
    """Second axis of `by_base`: `Robot.base_links`."""
    status: NDArray[np.uint8]
    """`superovoid.Status` of the distances, shape (pairs,)."""

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: false for non-unique contacts, and for contacts without a proof."""
        return differentiable_rows(self.status)


@dataclass(frozen=True, eq=False, repr=False)
class DistanceHessians(Record):
    """Second derivatives of signed distances with respect to joint positions, one row per pair."""

    by_joint: FloatArray
    """Second derivatives with respect to joint positions, shape (pairs, joints, joints); nan if there are none."""
    joint_names: tuple[str, ...]
    """Rows and columns of `by_joint`: `Robot.joint_names`."""
    status: NDArray[np.uint8]
    """`superovoid.DerivativeStatus` of the contacts, shape (pairs,)."""

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """Whether the distance has the second derivatives in `by_joint`; false with any flag but `TOUCHING`."""
        return (self.status & ~np.uint8(DerivativeStatus.TOUCHING)) == 0


class Robot:
    """A robot from a URDF and, optionally, an SRDF. Create one with `load` (from files) or `from_urdf` (from text).

    Attributes
    ----------
    name, root : str
        Names of the robot and of its root link.
    root_link : str
        Root link of the URDF: `root`, unless the robot moves in a world frame (``with_root_joint``).
    links : tuple of str
        All links, in the order of the URDF.
    bodies : tuple of Body
        Contact geometry. A body has the name of its link, or ``link/0``, ``link/1``, ... if a link has several.
    joint_names : tuple of str
        Independent movable joints (without mimic joints), in the order of the URDF.
    joint_limits : dict of str to (float, float)
        Lower and upper limit of each joint in `joint_names`; infinite for continuous joints.
    joints : mapping of str to Joint
        All joints, including fixed ones.
    mimic : mapping of str to Mimic
        Mimic joints.
    base_links : tuple of str
        Child links of floating and planar joints; their poses in the root frame are inputs.
    groups : mapping of str to tuple of str
        Links of each group of the SRDF.
    group_states : mapping of str to mapping
        Named states of the SRDF: group -> state -> joint -> position, rad or m.
    end_effectors : tuple of EndEffector
        End effectors of the SRDF.
    passive_joints : frozenset of str
        Passive joints of the SRDF.
    fixed_frames : mapping of str to str
        Parent frames of the fixed virtual joints of the SRDF -> child link; MoveIt's names for the frame that the robot
        is mounted in.
    root_joint : VirtualJoint or None
        Virtual joint of the SRDF between the world and the root link of the URDF (fixed, planar or floating).
    links_without_geometry : tuple of str
        Links without contact geometry, which have no distances.
    left_out : mapping of str to tuple of str
        Links with ignored collision elements -> kinds of these elements (``mesh`` with ``meshes="ignore"``). Distances
        of these links do not include the ignored elements.
    rules : CollisionRules
        Rules that decide which pairs of links are checked, and why. Change a copy, not the robot's own rules.
    warnings : tuple of str
        Ignored parts of the URDF and SRDF, such as geometry without a shape and entries for unknown links and joints,
        and doubtful values of meshes and limits.
    """

    def __init__(self, description: Description, semantics: Semantics) -> None:
        self._made_of = description, semantics
        self.name, self.root, self.links = description.name, description.root, description.links
        self.root_link = description.root_link or self.root
        self._kinematics = Kinematics(description.root, description.links, description.joints)
        self.joint_names = self._kinematics.joint_names
        self.base_links = self._kinematics.base_links
        joints = {joint.name: joint for joint in description.joints}
        self.joints: Mapping[str, Joint] = MappingProxyType(joints)
        self.joint_limits = {name: joints[name].limits for name in self.joint_names}
        self.mimic: Mapping[str, Mimic] = MappingProxyType(
            {joint.name: joint.mimic for joint in description.joints if joint.mimic is not None}
        )
        self.groups: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(semantics.groups))
        self.group_states = MappingProxyType(dict(semantics.states))
        self.end_effectors, self.passive_joints = semantics.end_effectors, semantics.passive
        self.fixed_frames: Mapping[str, str] = MappingProxyType(dict(semantics.fixed_frames))
        self.root_joint = semantics.root_joint
        self.bodies = _bodies(description)
        with_geometry = {body.link for body in self.bodies}
        self.links_without_geometry = tuple(link for link in self.links if link not in with_geometry)
        left_out = (
            f"URDF: link '{link}': left out of its collision geometry: {', '.join(kinds)}"
            for link, kinds in description.unsupported.items()
        )
        self.left_out: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(description.unsupported))
        self.warnings = (*semantics.warnings, *left_out, *description.notes)
        adjacent = _adjacent_links(description, with_geometry)
        self.rules = CollisionRules(
            self.links, adjacent, semantics.disabled, semantics.enabled, semantics.disabled_by_default
        )

    def __repr__(self) -> str:
        return (
            f"Robot({self.name!r}, {len(self.links)} links, {len(self.joint_names)} joints, {len(self.bodies)} bodies)"
        )

    def _repr_html_(self) -> str:
        """Return the first joints with their limits as a table, for a notebook."""
        limits = ((name, *self.joint_limits[name]) for name in self.joint_names)
        rows = [(name, f"{lower:.10g}", f"{upper:.10g}") for name, lower, upper in limits]
        return html.first_rows(repr(self), ("joint", "lower", "upper"), rows)

    def __reduce__(self) -> tuple[type[Robot], tuple[Description, Semantics]]:
        return type(self), self._made_of

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str],
        *,
        srdf: str | os.PathLike[str] | None = None,
        representation: str = "mixed",
        package_directories: Mapping[str, str | Path] | None = None,
        meshes: str = "hull",
        strict: bool = False,
        with_root_joint: bool = False,
        world_frame: str = "",
    ) -> Robot:
        """Read a robot from a file, a package or XML text.

        Parameters
        ----------
        source : str or path
            The URDF: a path, an address ``package://name/urdf/robot.urdf``, or the XML text.
        srdf : str or path, optional
            The SRDF, in the same forms.
        representation, meshes, strict, with_root_joint, world_frame
            As for `from_urdf`.
        package_directories : mapping of str to path, optional
            Folders of packages by name, for `source` and for meshes. Without this argument, `load` finds the package
            that contains the URDF file (by its package.xml), packages of ROS workspaces (``AMENT_PREFIX_PATH``,
            ``ROS_PACKAGE_PATH``), and folders with the name of the package: next to the URDF file, next to the folders
            that contain it, and in the cache of robot_descriptions. Relative paths of meshes start from the folder of
            the URDF file.

        Raises
        ------
        RobotDescriptionError
            As for `from_urdf`, and if a package is unknown.
        OSError
            If a file does not exist or cannot be read.

        Examples
        --------
        >>> Robot.load("package://panda_description/urdf/panda.urdf")
        Robot('panda', 12 links, 7 joints, 11 bodies)
        """
        folders = PackageFolders(package_directories)
        urdf, around = read_document("URDF", source, folders)
        text = None if srdf is None else read_document("SRDF", srdf, folders)[0]
        known = PackageFolders({**around, **(package_directories or {})})
        return cls.from_urdf(
            urdf,
            srdf=text,
            representation=representation,
            package_directories=known,
            meshes=meshes,
            strict=strict,
            with_root_joint=with_root_joint,
            world_frame=world_frame,
        )

    @classmethod
    def from_urdf(
        cls,
        xml: str,
        *,
        srdf: str | None = None,
        representation: str = "mixed",
        package_directories: Mapping[str, str | Path] | None = None,
        meshes: str = "hull",
        strict: bool = False,
        with_root_joint: bool = False,
        world_frame: str = "",
    ) -> Robot:
        """Read a robot from XML text.

        Parameters
        ----------
        xml : str
            The URDF document.
        srdf : str, optional
            The SRDF document.
        representation : {"mixed", "superovoids", "superellipsoids"}
            Contact geometry to use if a link has several (see `superovoid.robot.urdf`).
        package_directories : mapping of str to path, optional
            Folders of packages by name, for ``package://name/...``. Meshes are opened in these folders only, including
            those with an absolute path.
        meshes : {"hull", "triangles", "shells", "ignore"}
            Body of a mesh of a collision element: its convex hull; the solid bounded by its triangles, or the hull with
            a warning if they are not closed; its triangles, without an interior if they are not closed; none, with a
            warning (see `superovoid.robot.mesh_files`).
        strict : bool
            If true, raise an error for problems that MoveIt's readers only log: an SRDF for a robot with another name,
            groups with unknown links and joints, a mimic joint of an unknown joint, absurd limits, ``package:///``
            addresses. Otherwise they become `warnings`, and the rest is used (see `superovoid.robot.srdf.read_srdf` and
            `superovoid.robot.urdf.read_urdf`).
        with_root_joint : bool
            If true, a planar or floating virtual joint of the SRDF for the root link becomes a joint of this robot. The
            root is then the world frame that it names, without collision geometry, and the root link of the URDF is one
            of `base_links`, so that obstacles stand still while the robot moves.
        world_frame : str
            World frame in which the robot moves freely, as with a floating virtual joint, whatever the SRDF defines for
            its root link. Empty: none.

        Raises
        ------
        RobotDescriptionError
            If a document is invalid, with the element and the value, or if a mesh cannot be read.
        """
        description = read_urdf(xml, representation, package_directories, meshes, strict=strict)
        semantics = Semantics({}, {}, ())
        if srdf is not None and srdf.strip():
            semantics = read_srdf(
                srdf,
                description.name,
                description.links,
                description.joints,
                strict=strict,
                with_root_joint=with_root_joint or bool(world_frame),
            )
        if world_frame:
            semantics = replace(semantics, root_joint=_root_joint_in(world_frame, description, semantics.root_joint))
        if with_root_joint or world_frame:
            description = _add_root_joint(description, semantics.root_joint)
        if world_frame and description.root != world_frame:
            raise RobotDescriptionError(description.notes[-1])
        return cls(description, semantics)

    def positions(self, positions: Positions) -> FloatArray:
        """Return positions of joints as an array in the order of `joint_names`.

        Parameters
        ----------
        positions : mapping of str to float or (states,) array_like, or (joints,) or (states, joints) array_like
            Positions of all joints of `joint_names`, rad or m. Other joints of a mapping, including mimic joints, are
            ignored.

        Returns
        -------
        array, shape (joints,) or (states, joints)

        Raises
        ------
        ValueError
            If a joint is missing, or arrays have different lengths. Numbers are not checked.
        """
        try:
            return self._kinematics.array(positions)
        except (TypeError, ValueError) as error:
            raise ValueError(f"positions: {error}") from None

    def by_name(self, positions: Positions) -> dict[str, Any]:
        """Return positions of joints by name: a mapping as it is, the columns of an array by `joint_names`.

        Parameters
        ----------
        positions : mapping of str to float, or (joints,) or (states, joints) array_like
            rad or m.

        Returns
        -------
        dict of str to float, or to array, shape (states,)

        Raises
        ------
        ValueError
            If an array has another number of columns.
        """
        if isinstance(positions, Mapping):
            return dict(positions)
        array = self.positions(positions)
        if array.ndim not in (1, 2) or array.shape[-1] != len(self.joint_names):
            raise ValueError(
                f"positions: must be a mapping of joints, or an array of shape ({len(self.joint_names)},) or (states, "
                f"{len(self.joint_names)}) in the order of joint_names, found shape {array.shape}"
            )
        return dict(zip(self.joint_names, array.tolist() if array.ndim == 1 else array.T, strict=True))

    def random_states(self, count: int, seed: int | np.random.Generator | None = None) -> FloatArray:
        """Draw states uniformly within the joint limits.

        Parameters
        ----------
        count : int
            Number of states.
        seed : int or numpy.random.Generator, optional
            Seed, or source of random numbers; default: a new seed.

        Returns
        -------
        array, shape (count, len(joint_names))
            rad or m; of continuous joints in [-pi, pi).

        Raises
        ------
        ValueError
            If another joint has an infinite limit.

        Examples
        --------
        >>> robot = Robot.load("package://panda_description/urdf/panda.urdf")
        >>> robot.random_states(1000, 1).shape
        (1000, 7)
        """
        ranges = np.array(
            [
                (-np.pi, np.pi) if self.joints[name].kind == "continuous" else self.joint_limits[name]
                for name in self.joint_names
            ]
        ).reshape(-1, 2)
        if not np.isfinite(ranges).all():
            name = self.joint_names[int(np.argmin(np.isfinite(ranges).all(axis=1)))]
            raise ValueError(f"joint '{name}' has the limits {self.joint_limits[name]}: must be finite")
        shape = whole_number("count", count, 0), len(self.joint_names)
        lower, upper = ranges.T
        return random_generator("seed", seed).uniform(lower, upper, shape)

    def forward_kinematics(
        self,
        positions: Positions,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> dict[str, FloatArray]:
        """Compute the pose of every link.

        Parameters
        ----------
        positions : mapping of str to float or (states,) array_like, or (joints,) or (states, joints) array_like
            Positions of all joints of `joint_names`, rad or m. Other joints of a mapping, including mimic joints, are
            ignored. An array has one column per joint, in the order of `joint_names`.
        base_poses : mapping of str to (4, 4) array_like or transform
            root_from_link of the `base_links`; the same for all states.

        Returns
        -------
        dict of str to array, shape (4, 4) or (states, 4, 4)
            root_from_link of every link.

        Raises
        ------
        ValueError
            If a joint or base pose is missing or not finite, a base pose is not rigid, or an array has a wrong shape.
        """
        positions = self.positions(positions)
        if positions.ndim == 2:
            poses = self._kinematics.poses_of_rows(positions, base_poses)
            return dict(zip(self._kinematics.links, np.swapaxes(poses, 0, 1), strict=True))
        return dict(zip(self._kinematics.links, self._kinematics.poses(positions, base_poses), strict=True))

    def jacobian(
        self,
        link: str,
        point: ArrayLike,
        positions: Positions,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> FloatArray:
        """Compute the Jacobian of a point fixed to a link.

        Parameters
        ----------
        link : str
            Link that the point is fixed to.
        point : array, shape (3,)
            Current position of the point in the root frame.
        positions, base_poses
            As for `forward_kinematics`.

        Returns
        -------
        array, shape (6, len(joint_names))
            Linear velocity of the point (rows 0 to 2) and angular velocity of the link (3 to 5) per unit of joint
            velocity, in the root frame. A column includes the effect of joints that mimic its joint.

        Raises
        ------
        ValueError
            As for `forward_kinematics`, and if the link is unknown or the point is not three finite numbers.
        """
        self._check_link(link)
        point = np.asarray(point, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ValueError(f"point = {point}: expected three finite numbers")
        return self._kinematics.jacobian(link, point, positions, base_poses)

    def distance_gradients(
        self,
        result: SceneResult,
        positions: Positions,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> DistanceGradients:
        """Compute the derivatives of the distances of a result with respect to joint positions and base poses.

        The rate of a distance is the component along the normal of the relative velocity of its two points, each fixed
        to its body; the motion of the points on the bodies and of the normal does not contribute
        (docs/explanation/certificates.md).

        Parameters
        ----------
        result : SceneResult
            Result of a scene at the link poses that `forward_kinematics` returns for the same positions and base
            poses. Its bodies on links that the robot does not have are fixed.
        positions, base_poses
            As for `forward_kinematics`.

        Returns
        -------
        DistanceGradients
            Rows and status as in the result. With `Status.NON_UNIQUE` or `ARBITRARY_NORMAL` the derivatives are those
            of the points and normal in the result, one choice of several; with `UNPROVEN`, those of the contact found:
            `differentiable` is false for all of these.

        Raises
        ------
        ValueError
            As for `forward_kinematics`, and if no body of the result is on a link of the robot.
        """
        rows = self._kinematics.rows_of(tuple(body.link for body in result.bodies))
        if len(result) > 0 and not (rows >= 0).any():
            links = sorted({body.link for body in result.bodies})[:5]
            raise ValueError(f"result: no body is on a link of '{self.name}', found the links {links}")
        by_joint, by_base = self._kinematics.gradients_of_states(
            self._kinematics.poses(positions, base_poses)[None],
            np.array([0, len(result)]),
            rows[np.column_stack([result.body_a, result.body_b])],
            result.point_a,
            result.point_b,
            result.normal,
            with_bases=True,
        )
        return DistanceGradients(by_joint, self.joint_names, by_base, self.base_links, result.status)

    def distance_hessians(
        self,
        scene: Scene,
        result: SceneResult,
        positions: Positions,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> DistanceHessians:
        """Compute the second derivatives of the distances of a result with respect to joint positions.

        They follow from the curvatures of both surfaces at the contact and from the kinematics
        (docs/explanation/certificates.md). They exist for all kinds but non-convex meshes and shells, if the closest
        points are unique.

        Parameters
        ----------
        scene : Scene
            Scene of the result, in the root frame. Bodies on links that the robot does not have are fixed.
        result : SceneResult
            Result at the link poses that `forward_kinematics` returns for the same positions and base poses.
        positions, base_poses
            As for `forward_kinematics`.

        Returns
        -------
        DistanceHessians
            Rows as in the result. Check `differentiable`.

        Raises
        ------
        ValueError
            As for `forward_kinematics`, and if the result refers to a body that the scene does not have.
        """
        bodies = max(result.body_a.max(initial=-1), result.body_b.max(initial=-1))
        if bodies >= len(scene.bodies):
            raise ValueError(f"result: refers to body {bodies}, but the scene has {len(scene.bodies)} bodies")
        poses = self._kinematics.poses(positions, base_poses)
        by_joint, status = self._hessians(scene, result, np.broadcast_to(poses, (len(result), *poses.shape)))
        return DistanceHessians(by_joint, self.joint_names, status)

    def _hessians(self, scene: Scene, result: PairResults, poses: FloatArray) -> tuple[FloatArray, NDArray[np.uint8]]:
        """Return the fields of `DistanceHessians` for rows of several states, with the poses of all links in each."""
        rows = self._kinematics.rows_of(tuple(body.link for body in scene.bodies))
        local = np.array([body.link_from_body for body in scene.bodies]).reshape(-1, 4, 4)
        tables = scene.tables(np.empty((0, 2), dtype=np.int64))
        fixed = dict(zip(tables.links, tables.link_poses, strict=True))
        every, sides, bending = np.arange(len(result)), [], []
        for bodies, points in ((result.body_a, result.point_a), (result.body_b, result.point_b)):
            on = rows[bodies]
            links = np.array([fixed[scene.bodies[i].link] for i in bodies.tolist()]).reshape(-1, 4, 4)
            placed = np.where((on >= 0)[:, None, None], poses[every, on], links) @ local[bodies]
            motions, twice = self._kinematics.motions_of_points(poses, on, points, result.normal)
            sides.append(([scene.bodies[i].shape for i in bodies.tolist()], placed, motions))
            bending.append(twice)
        (a, pose_a, motion_a), (b, pose_b, motion_b) = sides
        by_joint, status = second_derivatives(a, pose_a, b, pose_b, result, motion_a, motion_b)
        return by_joint + bending[1] - bending[0], status

    def relative_speeds(
        self, bodies: Sequence[Body], pairs: ArrayLike, ranges: Mapping[str, tuple[float, float]] | None = None
    ) -> FloatArray:
        """Compute upper bounds of the relative speed of pairs of bodies due to each joint, within ranges of positions.

        While the joints move by dq along a straight line, seen from the last link that carries both bodies, no points
        of the two bodies together move by more than the sum of these bounds times abs(dq). Neither does their distance
        change by more (Schwarzer, Saha, Latombe 2005).

        Parameters
        ----------
        bodies : sequence of Body
            Bodies on links that this robot does not have are fixed.
        pairs : array of int, shape (n, 2)
            Indices into `bodies`.
        ranges : mapping of str to (float, float), optional
            Least and greatest position of independent joints, rad or m, for which the bounds hold; default: the joint
            limits, which a measured position may exceed.

        Returns
        -------
        array, shape (n, len(joint_names))
            m/rad or m/m; 0 for a joint that moves both bodies of a pair. A column includes the effect of joints that
            mimic its joint. Infinite if a prismatic joint with an infinite range lies between a revolute joint and a
            body.
        """
        return self.relative_speed_bounds(bodies, ranges)(pairs)

    def relative_speed_bounds(
        self, bodies: Sequence[Body], ranges: Mapping[str, tuple[float, float]] | None = None
    ) -> Callable[[ArrayLike], FloatArray]:
        """Return the function from pairs to their bounds, for several calls of `relative_speeds` with the same bodies.

        Parameters
        ----------
        bodies, ranges
            As for `relative_speeds`.
        """
        links = self._moving_links(bodies)
        reach = np.array([_reach(one) if link != self.root else 0.0 for one, link in zip(bodies, links, strict=True)])
        levers, moved = self._kinematics.levers(links, reach, {**self.joint_limits, **(ranges or {})})

        def bounds(pairs: ArrayLike) -> FloatArray:
            a, b = np.asarray(pairs).reshape(-1, 2).T
            return self._kinematics.by_joint(np.where(moved[b], 0.0, levers[a]) + np.where(moved[a], 0.0, levers[b]))

        return bounds

    def links_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the links for a list of link and group names, in the order of the URDF, without duplicates.

        Raises
        ------
        ValueError
            If a name is neither a link nor a group; the message lists the known names.
        """
        if isinstance(names, str):
            names = (names,)
        found: set[str] = set()
        for name in names:
            if name in self.groups:
                found.update(self.groups[name])
            elif name in self.links:
                found.add(name)
            else:
                groups = ", ".join(self.groups) or "none"
                raise ValueError(
                    f"'{name}' is not a link or group of '{self.name}' (groups: {groups}; links: "
                    f"{', '.join(self.links)})"
                )
        return tuple(link for link in self.links if link in found)

    def body_pairs(
        self,
        links_a: Sequence[str] | None = None,
        links_b: Sequence[str] | None = None,
        *,
        rules: CollisionRules | None = None,
        most: int = MOST_PAIRS,
    ) -> IntArray:
        """Return the pairs of bodies to check against each other.

        Pairs on one link, on links connected by a joint, and pairs that the SRDF disables are excluded.

        Parameters
        ----------
        links_a, links_b : sequence of str, optional
            Link and group names. A pair is included if one body is on a link of ``links_a`` and the other on one of
            ``links_b``; default: all links for both.
        rules : CollisionRules, optional
            Rules to use instead of the robot's own.
        most : int
            Largest allowed number of pairs.

        Returns
        -------
        array of int, shape (n, 2)
            Indices into `bodies`, the smaller one first; in ascending order.

        Raises
        ------
        LimitError
            If there are more than `most` pairs; a ValueError.
        """
        of_a = set(self.links if links_a is None else self.links_of(links_a))
        of_b = set(self.links if links_b is None else self.links_of(links_b))
        rules = self.rules if rules is None else rules
        links = [body.link for body in self.bodies]
        number = {name: i for i, name in enumerate(dict.fromkeys(links))}
        rows = np.array([number[link] for link in links], dtype=int)
        a, b = (np.array([name in side for name in number], dtype=bool) for side in (of_a, of_b))
        wanted = ((a[:, None] & b) | (b[:, None] & a)) & rules.table(tuple(number))
        if not links:
            return np.empty((0, 2), dtype=int)
        bodies_on = np.bincount(rows)
        count = int(bodies_on @ wanted.astype(np.int64) @ bodies_on) // 2
        if count > most:
            raise LimitError(self._limit_message(count, most, tuple(number), bodies_on, wanted))
        return _pairs_of_rows(wanted, rows, count)

    def _limit_message(
        self, count: int, most: int, links: Sequence[str], bodies_on: np.ndarray, wanted: np.ndarray
    ) -> str:
        """Return an error message about too many pairs, with the two links that contribute most."""
        products = np.where(wanted, bodies_on[:, None] * bodies_on, 0)
        i, j = map(int, np.unravel_index(int(products.argmax()), products.shape))
        between = f"'{links[i]}' ({bodies_on[i]} bodies) and '{links[j]}' ({bodies_on[j]})"
        return (
            f"robot '{self.name}': {count} pairs of bodies to check, at most {most} are allowed; "
            f"{products[i, j]} of them are between {between}: use fewer bodies per link or disable pairs"
        )

    def group(self, name: str) -> Group:
        """Return a group of the SRDF with its joints, its tip and its named states.

        Raises
        ------
        ValueError
            If the group does not exist.
        """
        if name not in self.groups:
            raise ValueError(f"'{name}' is not a group of '{self.name}' (groups: {', '.join(self.groups) or 'none'})")
        states = self.group_states.get(name, {})
        return read_group(name, self.groups[name], self.joints, self.joint_names, states, self.end_effectors)

    def links_moved_by(self, group: str) -> tuple[str, ...]:
        """Return the links that the joints of a group move, in the order of the URDF: those MoveIt checks for a group.

        They include links outside the group, such as the hand at the end of an arm, and links moved by joints that
        mimic a joint of the group. Fixed and mimic joints of the group move no links by themselves.

        Raises
        ------
        ValueError
            If the group does not exist.
        """
        links = set(self.group(group).links)
        moving = {
            name for name, joint in self.joints.items()
            if joint.child in links and joint.kind != "fixed" and joint.mimic is None
        }  # fmt: skip
        found: set[str] = set()
        grown = True
        while grown:
            moving |= {name for name, mimic in self.mimic.items() if mimic.joint in moving}
            before = len(found) + len(moving)
            found |= {joint.child for joint in self.joints.values() if joint.name in moving or joint.parent in found}
            moving |= {name for name, joint in self.joints.items() if joint.child in found}
            grown = len(found) + len(moving) > before
        return tuple(link for link in self.links if link in found)

    def position_of(self, joint: str, positions: Positions) -> float | None:
        """Return the position of a joint, which may be a mimic joint, rad or m.

        Parameters
        ----------
        joint : str
        positions : mapping of str to float, or (joints,) array_like
            Positions of independent joints.

        Returns
        -------
        float or None
            None if `positions` has no entry for the joint, or for the joint that it mimics.
        """
        positions = self.by_name(positions)
        factor, offset = 1.0, 0.0
        while joint in self.mimic:
            mimic = self.mimic[joint]
            offset, factor, joint = offset + factor * mimic.offset, factor * mimic.multiplier, mimic.joint
        return factor * positions[joint] + offset if joint in positions else None

    def exclusion_reason(self, link_a: str, link_b: str) -> str | None:
        """Return the reason why a pair of links is not checked; None if it is checked."""
        self._check_link(link_a)
        self._check_link(link_b)
        for link in (link_a, link_b):
            if link in self.links_without_geometry:
                return f"link '{link}' has no contact geometry"
        decision = self.rules.decide(link_a, link_b)
        return None if decision.checked else decision.words

    def scene(self) -> Scene:
        """Return a scene of all bodies and all pairs to check."""
        return Scene(self.bodies, self.body_pairs())

    def show(
        self,
        positions: Positions | None = None,
        base_poses: Mapping[str, PosesLike] | None = None,
        *,
        near: float | None = None,
        **options: Any,
    ) -> Viewer:
        """Serve a web page with this robot and a slider for every joint (docs/how_to/viewing.md).

        Parameters
        ----------
        positions, base_poses
            Initial state, as for `forward_kinematics`. A missing position is 0, or mid-range if 0 is beyond the limits;
            missing base poses are placed side by side.
        near : float, optional
            Largest distance of the pairs to show, m; default: about a fiftieth of the robot's extent.
        **options
            ``host``, by default this machine only, and ``port``, by default a free one.

        Returns
        -------
        Viewer
            `url` is the address of the page, `wait` blocks, `close` stops the page.

        Raises
        ------
        ValueError
            If positions, poses or `near` are invalid.
        ServingError
            If viser is missing, or the address is not available; a RuntimeError.
        """
        from superovoid.viewing import show  # here, because `viewing` imports robots

        return show("robot_page", self, positions=positions, base_poses=base_poses, near=near, **options)

    def _moving_links(self, bodies: Sequence[Body]) -> list[str]:
        """Return the link of each body, or the root link, which never moves, if the robot does not have its link."""
        known = set(self.links)
        return [body.link if body.link in known else self.root for body in bodies]

    def _check_link(self, link: str) -> None:
        if link not in self.links:
            raise ValueError(f"'{link}' is not a link of '{self.name}' (links: {', '.join(self.links)})")


def _reach(body: Body) -> float:
    """Return the radius of a ball around the link's origin that contains a body, m."""
    sphere = body.shape.bounding_sphere()
    return float(np.linalg.norm(_apply(body.link_from_body, sphere.centre))) + sphere.radius


def _pairs_of_rows(wanted: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` pairs of bodies whose rows are marked in a symmetric table."""
    pairs = np.empty((count, 2), dtype=int)
    partners: dict[int, np.ndarray] = {}  # row -> all bodies in the rows marked together with it
    done = 0
    for body, row in enumerate(rows.tolist()):
        if row not in partners:
            partners[row] = np.flatnonzero(wanted[row][rows])
        others = partners[row]
        others = others[np.searchsorted(others, body) :]
        pairs[done : done + len(others), 0] = body
        pairs[done : done + len(others), 1] = others
        done += len(others)
    return pairs


def _apply(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    return pose[:3, :3] @ point + pose[:3, 3]


def _bodies(description: Description) -> tuple[Body, ...]:
    by_link: dict[str, list] = {}
    for geometry in description.geometry:
        by_link.setdefault(geometry.link, []).append(geometry)
    bodies = []
    for link in description.links:
        several = by_link.get(link, [])
        for number, geometry in enumerate(several):
            name = link if len(several) == 1 else f"{link}/{number}"
            bodies.append(Body(name, link, geometry.shape, geometry.link_from_body))
    if len({body.name for body in bodies}) < len(bodies):
        raise RobotDescriptionError(f"URDF: robot '{description.name}': link names collide with body names (link/0)")
    return tuple(bodies)


def _adjacent_links(description: Description, with_geometry: set[str]) -> dict[frozenset[str], str]:
    """Return pairs of links connected by joints, skipping links without geometry -> names of the joints.

    Floating and planar joints do not connect links: a floating body may collide with the link below it.
    """
    above = {joint.child: joint for joint in description.joints if joint.kind not in OUTSIDE}
    pairs = {}
    for link in with_geometry:
        joint, names = above.get(link), []
        while joint is not None:
            names.append(joint.name)
            if joint.parent in with_geometry:
                pairs[frozenset((link, joint.parent))] = join_names(names)
                break
            joint = above.get(joint.parent)
    return pairs


def _root_joint_in(frame: str, description: Description, virtual: VirtualJoint | None) -> VirtualJoint:
    """Return the joint between a world frame and a robot: the SRDF's if it has that parent frame, or a floating one."""
    if frame in description.links:
        raise RobotDescriptionError(
            f"world_frame = '{shorten(frame)}': is a link of robot '{description.name}', must be a frame of the world"
        )
    if virtual is not None and virtual.parent_frame == frame and virtual.kind != "fixed":
        return virtual
    name = f"{frame}_to_{description.root}" if virtual is None else virtual.name
    return VirtualJoint(name, "floating", frame, description.root)


def _add_root_joint(description: Description, virtual: VirtualJoint | None) -> Description:
    """Return the description with the virtual joint of its root link, or unchanged if there is none or it is fixed.

    With a fixed virtual joint, MoveIt's planning frame is the root link, too.
    """
    if virtual is None or virtual.kind == "fixed":
        return description
    if virtual.parent_frame in description.links or virtual.name in (joint.name for joint in description.joints):
        words = (
            f"SRDF: virtual_joint '{virtual.name}': the URDF has a joint of this name, or a link "
            f"'{virtual.parent_frame}'; it is ignored"
        )
        return replace(description, notes=(*description.notes, words))
    joint = Joint(
        virtual.name,
        virtual.kind,
        virtual.parent_frame,
        virtual.child_link,
        np.eye(4),
        np.array([1.0, 0.0, 0.0]),
        (-np.inf, np.inf),
        None,
    )
    return replace(
        description,
        root=virtual.parent_frame,
        root_link=virtual.child_link,
        links=(virtual.parent_frame, *description.links),
        joints=(joint, *description.joints),
    )
