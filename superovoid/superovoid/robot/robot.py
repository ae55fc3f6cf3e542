# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot: bodies on links, the pairs of them that may meet, and where everything is for given joints.

Frames are named ``root_from_link``: the matrix (4, 4) that maps link coordinates to those of the root link.
Metres, radians.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.robot.errors import LimitError, RobotDescriptionError
from superovoid.robot.files import PackageFolders, read_document
from superovoid.robot.groups import Group, read_group
from superovoid.robot.kinematics import OUTSIDE, Kinematics
from superovoid.robot.limits import MOST_PAIRS
from superovoid.robot.rules import CollisionRules
from superovoid.robot.srdf import Semantics, VirtualJoint, read_srdf
from superovoid.robot.urdf import Description, Joint, Mimic, read_urdf
from superovoid.robot.xml import listed, short
from superovoid.scene import Body, Scene, SceneResult
from superovoid.values.poses import PosesLike
from superovoid.values.records import Record
from superovoid.values.status import differentiable_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

if TYPE_CHECKING:
    from superovoid.states import StateDistances
    from superovoid.viewing.serving import Viewer


@dataclass(frozen=True, eq=False, repr=False)
class DistanceGradients(Record):
    """Derivatives of the signed distances of pairs by what moves a robot, one row a pair."""

    by_joint: FloatArray
    """Shape (pairs, joints), m/rad or m/m; followers (mimic joints) are part of their master's column."""
    joint_names: tuple[str, ...]
    """The columns of `by_joint`: `Robot.joint_names`."""
    by_base: FloatArray
    """Shape (pairs, bases, 6): by the twist (linear; angular) of each base link about the origin of its frame, in the
    axes of the root frame, m/m and m/rad."""
    base_links: tuple[str, ...]
    """The second axis of `by_base`: `Robot.base_links`."""
    status: NDArray[np.uint8]
    """`superovoid.Status` of the distances, shape (pairs,)."""

    @property
    def differentiable(self) -> NDArray[np.bool_]:
        """`Status.differentiable` of each row: false for one of several contacts, or one not proved the best."""
        return differentiable_rows(self.status)


class Robot:
    """A robot read from a URDF and, optionally, an SRDF. Make one with `load` (a file) or `from_urdf` (the text).

    Attributes
    ----------
    name, root : str
        Of the robot, of its root link.
    root_link : str
        The root link of the URDF: `root`, unless the robot moves in a frame of the world (``with_root_joint``).
    links : tuple of str
        All links, in the order of the URDF.
    bodies : tuple of Body
        The contact geometry; a body has its link's name, or ``link/0``, ``link/1``, ... where a link has several.
    joint_names : tuple of str
        Independent movable joints (mimicking joints left out), in the order of the URDF.
    joint_limits : dict of str to (float, float)
        Lower and upper limit of these joints; infinite for continuous ones.
    joints : mapping of str to Joint
        All joints, fixed ones too.
    mimic : mapping of str to Mimic
        The joints that follow others.
    base_links : tuple of str
        Children of floating joints: their pose in the root frame comes from outside.
    groups : mapping of str to tuple of str
        The SRDF's groups, as links.
    group_states : mapping of str to mapping
        The SRDF's named states: group -> state -> joint -> position, rad or m.
    end_effectors : tuple of EndEffector
        The SRDF's.
    passive_joints : frozenset of str
        Joints that the SRDF calls passive.
    fixed_frames : mapping of str to str
        Frames that the SRDF's fixed virtual joints put at a link -> that link; MoveIt's names for where a robot stands.
    root_joint : VirtualJoint or None
        The SRDF's virtual joint of the URDF's root link: how the robot moves in the world (fixed, planar, floating).
    links_without_geometry : tuple of str
        Links that no distance can be asked for.
    left_out : mapping of str to tuple of str
        Links of whose collision geometry something has no shape here -> what (``mesh`` with ``meshes="ignore"``): what
        is asked of these is answered for less than there is.
    rules : CollisionRules
        Which pairs of links are checked, and why (a copy may be changed, this one is the robot's own).
    warnings : tuple of str
        What was ignored: geometry without a shape here, what the SRDF says of links and joints that do not exist; what
        is doubtful about meshes and limits.
    """

    def __init__(self, description: Description, semantics: Semantics) -> None:
        self._made_of = description, semantics
        self._own_scene: Scene | None = None
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
        """Read a robot from a file, a package or the text itself.

        Parameters
        ----------
        source : str or path
            The URDF: a path, an address ``package://name/urdf/robot.urdf``, or the document itself.
        srdf : str or path, optional
            The SRDF, in the same ways.
        representation, meshes, strict, with_root_joint, world_frame
            As for `from_urdf`.
        package_directories : mapping of str to path, optional
            Where packages are, for `source` and for meshes. Packages of sourced ROS workspaces
            (``AMENT_PREFIX_PATH``) and the one that the URDF's file lies in (by its package.xml) are known without.

        Raises
        ------
        RobotDescriptionError
            As `from_urdf` does, and if a package is unknown.
        OSError
            If a file is not there or cannot be read.

        Examples
        --------
        >>> Robot.load("package://panda_description/urdf/panda.urdf")
        Robot('panda', 12 links, 7 joints, 11 bodies)
        """
        folders = PackageFolders(package_directories)
        urdf, package = read_document("URDF", source, folders)
        text = None if srdf is None else read_document("SRDF", srdf, folders)[0]
        known = PackageFolders({**package, **(package_directories or {})})
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
        """Read a robot.

        Parameters
        ----------
        xml : str
            The URDF document.
        srdf : str, optional
            The SRDF document.
        representation : {"mixed", "superovoids", "superellipsoids"}
            Which of several contact geometries of a link to take (see `superovoid.robot.urdf`).
        package_directories : mapping of str to path, optional
            Where packages are: ``package://name/...`` is looked for in the folder of ``name``. Meshes are opened in
            these folders only, those named by an absolute path too.
        meshes : {"hull", "triangles", "shells", "ignore"}
            What a mesh of a collision element becomes: its convex hull; a body bounded by its triangles, or the hull
            with a warning where they do not close; nothing, with a warning (see `superovoid.robot.mesh_files`).
        strict : bool
            Whether what readers of MoveIt leave out with a word in the log is an error: an SRDF for a robot of another
            name, groups of links and joints that do not exist, a joint that mimics none, limits that are absurd,
            ``package:///`` addresses. Else it is in `warnings`, and the rest counts (see
            `superovoid.robot.srdf.read_srdf` and `superovoid.robot.urdf.read_urdf`).
        with_root_joint : bool
            Whether the SRDF's virtual joint of the root link is a joint of this robot where it is planar or floating:
            the root is then the frame of the world that it names, which no collision geometry is on, and the URDF's
            root link one of `base_links`. So obstacles stand still while the robot moves.
        world_frame : str
            A frame of the world that the robot moves freely in, whatever the SRDF says about its root link: as a
            floating virtual joint would have it. Empty: none.

        Raises
        ------
        RobotDescriptionError
            Whatever is wrong with either document, with the element and the value; a mesh that cannot be read.
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
            semantics = replace(semantics, root_joint=_joint_to(world_frame, description, semantics.root_joint))
        if with_root_joint or world_frame:
            description = _in_the_world(description, semantics.root_joint)
        if world_frame and description.root != world_frame:
            raise RobotDescriptionError(description.notes[-1])
        return cls(description, semantics)

    def forward_kinematics(
        self,
        positions: Mapping[str, float] | ArrayLike,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> dict[str, FloatArray]:
        """Where every link is.

        Parameters
        ----------
        positions : mapping of str to float, or (joints,) or (states, joints) array_like
            Positions of at least all joints of `joint_names`, rad or m; of a mapping others, mimicking ones too, are
            ignored. An array has a column a joint, in the order of `joint_names`.
        base_poses : mapping of str to (4, 4) array_like or transform
            root_from_link of the `base_links`; the same in all states.

        Returns
        -------
        dict of str to array, shape (4, 4) or (states, 4, 4)
            root_from_link of every link.

        Raises
        ------
        ValueError
            If a joint or base pose is missing or not finite, a base pose is no pose, or an array has another shape.
        """
        if not isinstance(positions, Mapping) and np.ndim(positions) == 2:
            poses = self._kinematics.poses_of_rows(positions, base_poses)
            return dict(zip(self._kinematics.links, np.swapaxes(poses, 0, 1), strict=True))
        return dict(zip(self._kinematics.links, self._kinematics.poses(positions, base_poses), strict=True))

    def state_distances(self, positions: ArrayLike, scene: Scene | None = None, **options: Any) -> StateDistances:
        """Signed distances in many states: `superovoid.state_distances` for this robot.

        Parameters
        ----------
        positions : (states, joints) or (joints,) array_like
            Positions of the joints in the order of `joint_names`, rad or m, one row a state.
        scene : Scene, optional
            The bodies and pairs; default: all of the robot's (`scene()`), which are prepared once.
        **options
            As for `superovoid.state_distances`: ``max_distance``, ``gradients``, ``base_poses``, ``threads``, ...

        Returns
        -------
        StateDistances

        Raises
        ------
        ValueError
            As `superovoid.state_distances` does.
        """
        from superovoid.states import state_distances  # a convenience: `states` is above this package

        if scene is None:
            if self._own_scene is None:
                self._own_scene = self.scene()
            scene = self._own_scene
        rows = positions if np.ndim(positions) != 1 else np.asarray(positions)[None]
        return state_distances(self, scene, rows, **options)

    def jacobian(
        self,
        link: str,
        point: ArrayLike,
        positions: Mapping[str, float] | ArrayLike,
        base_poses: Mapping[str, PosesLike] | None = None,
    ) -> FloatArray:
        """How a point of a link moves with the joints.

        Parameters
        ----------
        link : str
            The link the point belongs to.
        point : array, shape (3,)
            Where the point is now, in the root frame.
        positions, base_poses
            As in `forward_kinematics`.

        Returns
        -------
        array, shape (6, len(joint_names))
            Linear velocity of the point (rows 0 to 2) and angular velocity of the link (3 to 5) per unit of joint
            velocity, root frame. Mimicking joints are part of their master's column.

        Raises
        ------
        ValueError
            As `forward_kinematics`, and for an unknown link or a point that is none.
        """
        self._check_link(link)
        point = np.asarray(point, dtype=float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ValueError(f"point = {point}: expected three finite numbers")
        return self._kinematics.jacobian(link, point, positions, base_poses)

    def distance_gradients(
        self,
        result: SceneResult,
        positions: Mapping[str, float] | ArrayLike,
        base_poses: Mapping[str, PosesLike] | None = None,
        *,
        bodies: Sequence[Body] | None = None,
    ) -> DistanceGradients:
        """Derivatives of every reported distance by the joints and the bases.

        The distance changes by the normal's part of the difference of the velocities of its two points; the change of
        the points and of the normal themselves does not enter (docs/derivatives.md).

        Parameters
        ----------
        result : SceneResult
            Answer of a scene of this robot's `bodies` (in their order) with the links where `forward_kinematics` of
            the same positions and base poses has them.
        positions, base_poses
            As in `forward_kinematics`.
        bodies : sequence of Body, optional
            Those of the scene, where they are not the robot's alone: a planning scene's, whose objects are carried by
            links too, or with obstacles. Bodies on links that the robot does not have stand still.

        Returns
        -------
        DistanceGradients
            Rows as in the result, whose status comes along. Where it has `Status.NON_UNIQUE` or `ARBITRARY_NORMAL` they
            are those of the points and normal given, one of several; where it has `UNPROVEN`, those of the contact
            found: `differentiable` is false for all of these.

        Raises
        ------
        ValueError
            As `forward_kinematics`, and if the result names a body that is not among those.
        """
        of = f"'{self.name}' has" if bodies is None else "there are"
        bodies = self.bodies if bodies is None else bodies
        last = max(result.body_a.max(initial=-1), result.body_b.max(initial=-1))
        if last >= len(bodies):
            raise ValueError(f"result: names body {last}, but {of} {len(bodies)} bodies")
        rows = self._kinematics.rows_of(tuple(body.link for body in bodies))
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

    def relative_speeds(self, bodies: Sequence[Body], pairs: ArrayLike) -> FloatArray:
        """Bounds of how fast the bodies of pairs can move against each other, anywhere within the joint limits.

        While the joints move by dq, each on a straight line, no point of one body moves farther against the other
        than the sum of these times abs(dq): neither does their distance change by more (Schwarzer, Saha, Latombe 2005).

        Parameters
        ----------
        bodies : sequence of Body
            Those on links that this robot does not have stand still.
        pairs : array of int, shape (n, 2)
            Indices into `bodies`.

        Returns
        -------
        array, shape (n, len(joint_names))
            m/rad or m/m. Joints that carry both bodies of a pair count nothing; mimicking joints are part of their
            master's column. Infinite where a sliding joint without limits is between a turning one and a body.
        """
        spheres = [body.shape.bounding_sphere() for body in bodies]
        centres = zip(bodies, spheres, strict=True)
        reach = np.array([np.linalg.norm(_apply(body.link_from_body, sphere.centre)) for body, sphere in centres])
        reach = reach + [sphere.radius for sphere in spheres]
        levers, moved = self._kinematics.levers(self._carriers(bodies), reach, self.joint_limits)
        a, b = np.asarray(pairs).reshape(-1, 2).T
        return self._kinematics.by_joint(np.where(moved[b], 0.0, levers[a]) + np.where(moved[a], 0.0, levers[b]))

    def links_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Links of a list of link and group names, in the order of the URDF, each once.

        Raises
        ------
        ValueError
            If a name is neither; the message says what exists.
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
                    f"'{name}' is no link and no group of '{self.name}' (groups: {groups}; links: "
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
        """Pairs of bodies that may be checked against each other.

        Left out are pairs on one link, on links that a joint connects, and those the SRDF disables.

        Parameters
        ----------
        links_a, links_b : sequence of str, optional
            Link and group names. A pair is kept if one body is on a link of ``links_a`` and the other on one of
            ``links_b``; by default both are all links.
        rules : CollisionRules, optional
            Others than the robot's own.
        most : int
            How many there may be.

        Returns
        -------
        array of int, shape (n, 2)
            Indices into `bodies`, the smaller first; in ascending order.

        Raises
        ------
        LimitError
            If there are more; a ValueError.
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
            raise LimitError(self._crowded(count, most, tuple(number), bodies_on, wanted))
        return _pairs_of_rows(wanted, rows, count)

    def _crowded(self, count: int, most: int, links: Sequence[str], bodies_on: np.ndarray, wanted: np.ndarray) -> str:
        """Words about too many pairs: where most of them are."""
        products = np.where(wanted, bodies_on[:, None] * bodies_on, 0)
        i, j = map(int, np.unravel_index(int(products.argmax()), products.shape))
        between = f"'{links[i]}' ({bodies_on[i]} bodies) and '{links[j]}' ({bodies_on[j]})"
        return (
            f"robot '{self.name}': {count} pairs of bodies are to be checked, at most {most} are allowed; "
            f"{products[i, j]} of them are between {between}: give links fewer bodies or disable pairs"
        )

    def group(self, name: str) -> Group:
        """A group of the SRDF with its joints, its tip and its named states.

        Raises
        ------
        ValueError
            If there is no such group.
        """
        if name not in self.groups:
            raise ValueError(f"'{name}' is no group of '{self.name}' (groups: {', '.join(self.groups) or 'none'})")
        states = self.group_states.get(name, {})
        return read_group(name, self.groups[name], self.joints, self.joint_names, states, self.end_effectors)

    def links_moved_by(self, group: str) -> tuple[str, ...]:
        """Links that the joints of a group move, in the order of the URDF: what MoveIt checks for a group.

        These are more than the group's own links, a hand at the end of an arm among them, and links of joints that
        follow (mimic) one of the group's. A joint that cannot move, or follows another, moves nothing by itself.

        Raises
        ------
        ValueError
            If there is no such group.
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

    def position_of(self, joint: str, positions: Mapping[str, float]) -> float | None:
        """The position of a joint, one that follows another included, rad or m.

        Parameters
        ----------
        joint : str
        positions : mapping of str to float
            Of independent joints.

        Returns
        -------
        float or None
            None where the joint, or the one it follows, has no position there.
        """
        factor, offset = 1.0, 0.0
        while joint in self.mimic:
            mimic = self.mimic[joint]
            offset, factor, joint = offset + factor * mimic.offset, factor * mimic.multiplier, mimic.joint
        return factor * positions[joint] + offset if joint in positions else None

    def why_not(self, link_a: str, link_b: str) -> str | None:
        """The rule that forbids a pair of links, in words; None if the pair may be checked."""
        self._check_link(link_a)
        self._check_link(link_b)
        for link in (link_a, link_b):
            if link in self.links_without_geometry:
                return f"link '{link}' has no contact geometry"
        verdict = self.rules.why(link_a, link_b)
        return None if verdict.checked else verdict.words

    def scene(self) -> Scene:
        """A scene of all bodies and all allowed pairs."""
        return Scene(self.bodies, self.body_pairs())

    def show(
        self,
        positions: Mapping[str, float] | ArrayLike | None = None,
        base_poses: Mapping[str, PosesLike] | None = None,
        *,
        near: float | None = None,
        **options: Any,
    ) -> Viewer:
        """Serve a page with this robot and a slider for every joint, for a browser (docs/viewing.md).

        Parameters
        ----------
        positions, base_poses
            As in `forward_kinematics`, where it is at first; what is missing is at 0, or in the middle of its limits,
            and bases stand side by side.
        near : float, optional
            Pairs at most this far apart are shown, m; default: about a fiftieth of the robot's extent.
        **options
            ``host``, by default this machine only, and ``port``, by default one that is free.

        Returns
        -------
        Viewer
            `url` is where the page is, `wait` waits, `close` ends it.

        Raises
        ------
        ValueError
            If positions, poses or `near` make no sense.
        ServingError
            If viser is missing, or the address is not to be had; a RuntimeError.
        """
        from superovoid.viewing.robot_model import RobotModel  # a convenience: `viewing` is above this package
        from superovoid.viewing.robot_page import show_robot

        model = RobotModel(self, near)
        if positions is not None:
            model.set_positions(positions)
        for link, pose in (base_poses or {}).items():
            model.set_base(link, pose)
        return show_robot(model, **options)

    def _carriers(self, bodies: Sequence[Body]) -> list[str]:
        """The link that carries each body; the root link, which never moves, for those on links of others."""
        known = set(self.links)
        return [body.link if body.link in known else self.root for body in bodies]

    def _check_link(self, link: str) -> None:
        if link not in self.links:
            raise ValueError(f"'{link}' is no link of '{self.name}' (links: {', '.join(self.links)})")


def _pairs_of_rows(wanted: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """All pairs of bodies whose rows are a pair of a table; there are so many."""
    pairs = np.empty((count, 2), dtype=int)
    partners: dict[int, np.ndarray] = {}  # of the bodies in a row: all bodies in the rows that are wanted with it
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
    """Pairs of links that a joint connects, links without geometry between them skipped -> names of the joints.

    A joint whose pose comes from outside connects nothing: what floats may hit what it floats over.
    """
    above = {joint.child: joint for joint in description.joints if joint.kind not in OUTSIDE}
    pairs = {}
    for link in with_geometry:
        joint, names = above.get(link), []
        while joint is not None:
            names.append(joint.name)
            if joint.parent in with_geometry:
                pairs[frozenset((link, joint.parent))] = listed(names)
                break
            joint = above.get(joint.parent)
    return pairs


def _joint_to(frame: str, description: Description, virtual: VirtualJoint | None) -> VirtualJoint:
    """The joint by which a robot moves in a frame of the world: the SRDF's where that is its, or a floating one."""
    if frame in description.links:
        raise RobotDescriptionError(
            f"world_frame = '{short(frame)}': is a link of robot '{description.name}', must be a frame of the world"
        )
    if virtual is not None and virtual.parent_frame == frame and virtual.kind != "fixed":
        return virtual
    name = f"{frame}_to_{description.root}" if virtual is None else virtual.name
    return VirtualJoint(name, "floating", frame, description.root)


def _in_the_world(description: Description, virtual: VirtualJoint | None) -> Description:
    """The description with the joint by which its root link moves in the world; as it is where it has none.

    For a fixed one MoveIt's planning frame is the root link, too.
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
