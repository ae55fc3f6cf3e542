# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Free bodies in contact: the whole loop of section 6, with the forces of section 1.

Equations of motion (eq. 1 without joints), with the angular velocity w and inertia J in the frame of the body:

    m dv/dt = f,    J dw/dt = R^T tau - w x J w,    dq/dt = q (0, w) / 2

A pair with signed distance d < 0 has the depth s = -d and the closing speed s' = n.(v_A - v_B) of the material points
at the contact. The force along the common normal is Hertz's, with a term for the energy loss of an impact:

    F = K s^(3/2) (1 + chi s' / s'_0),    K = 4/3 E* sqrt(R_e),    1/E* = (1 - nu_A^2)/E_A + (1 - nu_B^2)/E_B

    chi = 0                    Hertz
    chi = 3 (1 - e^2) / 4      Lankarani and Nikravesh 1994 (the paper's reference 9)
    chi = 8 (1 - e) / (5 e)    Flores et al. 2011, for all e

with the coefficient of restitution e and the closing speed s'_0 at the beginning of the contact. R_e = 1/sqrt(k_1 k_2),
with the principal relative curvatures k of the contact, is the reduced radius for balls, and for other bodies Johnson's
approximation for nearly circular contacts (Contact Mechanics, 1985, section 4.2). The force is never attractive. It
acts on both bodies at the midpoint of the two points, so momentum and angular momentum are conserved.

The paper does not specify the integrator. This module uses the fourth-order Runge-Kutta method with a fixed step, as in
section 6. Each of its four evaluations solves the contact, starting from the points of the previous one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation
from scipy.special import gammaln

from superovoid.values.records import Record, Statistics
from superovoid_papers.methods.lopes2010 import newton_raphson
from superovoid_papers.methods.lopes2010.framework import _choice, _pose, motion, settings
from superovoid_papers.methods.lopes2010.superquadrics import EXPONENT, RADIUS, SQUARE, Body, pack, surface

FloatArray = NDArray[np.float64]

LAWS = {"hertz": 0, "lankarani-nikravesh": 1, "flores": 2}


class ContactError(RuntimeError):
    """The contact of a pair could not be found, so its force is unknown."""


@dataclass(frozen=True)
class Material:
    """Elastic constants of a body."""

    young: float = 2.0e11
    """Young's modulus, Pa."""
    poisson: float = 0.3
    """Poisson's ratio."""

    def __post_init__(self) -> None:
        if not 0.0 < self.young < math.inf:
            raise ValueError(f"Material.young = {self.young!r}: must be positive (pascals)")
        if not -1.0 < self.poisson <= 0.5:
            raise ValueError(f"Material.poisson = {self.poisson!r}: must be in (-1, 0.5]")

    @property
    def compliance(self) -> float:
        """(1 - nu^2) / E, 1/Pa."""
        return (1.0 - self.poisson**2) / self.young


@dataclass(frozen=True, eq=False, repr=False)
class RigidBody(Record):
    """A homogeneous ellipsoid or superellipsoid with its initial motion."""

    shape: Body
    pose: ArrayLike
    """(4, 4), body to world, m."""
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    """Velocity of the centre, world, m/s."""
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0)
    """World axes, rad/s."""
    density: float = 7800.0
    """kg/m^3."""
    material: Material = Material()
    fixed: bool = False
    """If true, forces do not move the body."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Record):
    """A motion: arrays with one row per time; pairs in the order of `itertools.combinations`."""

    time: FloatArray
    """(n,), s."""
    poses: FloatArray
    """(n, bodies, 4, 4)."""
    velocity: FloatArray
    """(n, bodies, 3), of the centres, world, m/s."""
    angular_velocity: FloatArray
    """(n, bodies, 3), world axes, rad/s."""
    pairs: tuple[tuple[int, int], ...]
    distance: FloatArray
    """(n, pairs), m; nan if the proximity query found the bodies separate."""
    force: FloatArray
    """(n, pairs), N, 0 without contact."""
    kinetic_energy: FloatArray
    """(n,), J, of all bodies except fixed ones, as the following two."""
    momentum: FloatArray
    """(n, 3), kg m/s."""
    angular_momentum: FloatArray
    """(n, 3), about the origin of the world, kg m^2/s."""
    statistics: Statistics
    """``evaluations`` of the contact of a pair; ``solved``: those with a run of Newton's method; ``iterations`` of it
    in total; ``singular``: those with a pseudo-inverse; ``restarts``: evaluations that did not converge from the last
    points and started again at the midpoint of the centres."""


def mass_and_inertia(shape: Body, density: float) -> tuple[float, FloatArray]:
    """Return mass, kg, and principal moments of inertia, kg m^2, of a homogeneous ellipsoid or superellipsoid.

    By Dirichlet's integrals, the integral of |x_1|^(p_1 - 1) ... over sum |x_i / a_i|^g_i <= 1 is
    8 prod(a_i^p_i gamma(p_i / g_i) / g_i) / gamma(1 + sum p_i / g_i).

    Raises
    ------
    ValueError
        If the surface is open or the density not positive.
    """
    row = pack("shape", shape)
    if not row[RADIUS] < math.inf:
        raise ValueError(f"shape = {shape!r}: must be closed to have a mass")
    if not 0.0 < density < math.inf:
        raise ValueError(f"density = {density!r}: must be positive (kg/m^3)")
    exponents = row[EXPONENT : EXPONENT + 3]
    sizes = row[SQUARE : SQUARE + 3] ** (-1.0 / exponents)

    def integral(powers: FloatArray) -> float:
        shares = powers / exponents
        logarithm = powers * np.log(sizes) + gammaln(shares) - np.log(exponents)
        return 8.0 * math.exp(logarithm.sum() - gammaln(1.0 + shares.sum()))

    volume = integral(np.ones(3))
    squares = np.array([integral(1.0 + 2.0 * np.eye(3)[i]) for i in range(3)])
    return density * volume, density * (squares.sum() - squares)


def effective_radius(a: Body, x: FloatArray, b: Body, y: FloatArray, a_from_b: FloatArray) -> float:
    """Return R_e of a contact at the surface points x of A and y of B, each in its own frame, m.

    At flat points of superquadrics the relative curvature may vanish, and Hertz's law does not apply. The larger
    bounding radius therefore limits R_e; the paper has no such limit.
    """
    rows = pack("a", a), pack("b", b)
    turns = np.eye(3), a_from_b
    _, gradient, _ = surface(rows[0], tuple(x))
    normal = np.array(gradient) / np.linalg.norm(gradient)
    frame = np.linalg.svd(normal[None])[2][1:].T  # two directions across the normal
    curvature = np.zeros((2, 2))
    for row, turn, point in zip(rows, turns, (x, y), strict=True):
        _, gradient, bend = surface(row, tuple(point))
        across = turn.T @ frame
        curvature += across.T @ (np.array(bend)[:, None] * across) / np.linalg.norm(gradient)
    gauss = max(float(np.linalg.det(curvature)), 0.0)
    largest = max(row[RADIUS] for row in rows)
    return min(gauss**-0.5, largest) if gauss > 0.0 else largest


@dataclass
class _Tally:
    evaluations: int = 0
    solved: int = 0
    iterations: int = 0
    singular: int = 0
    restarts: int = 0


@dataclass
class _Pair:
    """A pair of bodies with its state between evaluations."""

    bodies: tuple[RigidBody, RigidBody]
    names: str
    state: FloatArray = field(default_factory=lambda: np.zeros(newton_raphson.STATE_LENGTH))
    onset: float | None = None
    """Closing speed at the beginning of the current contact, m/s; None: no contact."""


class _Contacts:
    """Steps (iii) to (vi) of section 6."""

    def __init__(self, chosen: newton_raphson.Settings, law: str, restitution: float) -> None:
        self._settings = chosen
        self._chi = {
            "hertz": 0.0,
            "lankarani-nikravesh": 0.75 * (1.0 - restitution**2),
            "flores": 1.6 * (1.0 - restitution) / restitution,
        }[law]
        self._scratch = newton_raphson.scratch_space()
        self.tally = _Tally()

    def _solve(self, pair: _Pair, poses: tuple[FloatArray, FloatArray], time: float) -> object:
        rows = [pack("shape", body.shape) for body in pair.bodies]
        out = np.empty((1, newton_raphson.RESULT_LENGTH))
        self.tally.evaluations += 1
        for attempt in range(2):
            known = pair.state[newton_raphson.KNOWN]
            stacks = (np.ascontiguousarray(pose[None]) for pose in poses)
            newton_raphson.solve_steps(*rows, *stacks, self._settings, pair.state, self._scratch, out)
            found = motion(out)
            if not found.solved[0]:
                return found
            self.tally.solved += 1
            self.tally.iterations += int(found.statistics.iterations[0])
            self.tally.singular += int(found.statistics.singular[0])
            if found.converged[0]:
                return found
            if not known or attempt:
                break
            self.tally.restarts += 1  # with an empty state: from the midpoint of the centres
        iterations = int(found.statistics.iterations[0])
        raise ContactError(f"{pair.names} at {time:.6g} s: Newton's method did not converge in {iterations} iterations")

    def force(
        self,
        pair: _Pair,
        poses: tuple[FloatArray, FloatArray],
        speeds: list[tuple[FloatArray, FloatArray]],
        time: float,
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return the signed distance, m, force on B along the normal, N, the normal and the force's point, world."""
        found = self._solve(pair, poses, time)
        if not found.solved[0] or found.distance[0] >= 0.0:
            return float(found.distance[0]), 0.0, np.zeros(3), np.zeros(3)
        depth = -float(found.distance[0])
        normal = found.normal[0]
        points = found.point_a[0], found.point_b[0]
        at = 0.5 * (points[0] + points[1])
        moving = [v + np.cross(w, at - pose[:3, 3]) for (v, w), pose in zip(speeds, poses, strict=True)]
        closing = float(normal @ (moving[0] - moving[1]))
        if pair.onset is None:
            pair.onset = closing
        a, b = pair.bodies
        own = [pose[:3, :3].T @ (x - pose[:3, 3]) for pose, x in zip(poses, points, strict=True)]
        a_from_b = poses[0][:3, :3].T @ poses[1][:3, :3]
        radius = effective_radius(a.shape, own[0], b.shape, own[1], a_from_b)
        stiffness = 4.0 / 3.0 * math.sqrt(radius) / (a.material.compliance + b.material.compliance)
        damping = self._chi * closing / pair.onset if pair.onset > 0.0 else 0.0
        return -depth, max(stiffness * depth**1.5 * (1.0 + damping), 0.0), normal, at


# Columns of the state of a body: centre, quaternion (scalar last), velocity, angular velocity in the body's frame.
_X, _Q, _V, _W = slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)


class _System:
    """Bodies, pairs and gravity: the right-hand side of the equations of motion."""

    def __init__(self, bodies: list[RigidBody], gravity: FloatArray, contacts: _Contacts) -> None:
        self.bodies = bodies
        self.contacts = contacts
        self.mass, self.inertia = zip(*(mass_and_inertia(body.shape, body.density) for body in bodies), strict=True)
        self.pairs = {
            (i, j): _Pair((bodies[i], bodies[j]), f"bodies {i} and {j}")
            for i, j in combinations(range(len(bodies)), 2)
            if not (bodies[i].fixed and bodies[j].fixed)
        }
        self._gravity = gravity

    def start(self) -> FloatArray:
        """Return the initial state of all bodies, (bodies, 13)."""
        state = np.zeros((len(self.bodies), 13))
        for row, body in zip(state, self.bodies, strict=True):
            pose = _pose("RigidBody.pose", body.pose)
            turn = Rotation.from_matrix(pose[:3, :3])
            row[_X], row[_Q] = pose[:3, 3], turn.as_quat()
            if not body.fixed:
                row[_V], row[_W] = body.velocity, turn.apply(body.angular_velocity, inverse=True)
        return state

    def poses(self, state: FloatArray) -> FloatArray:
        """Return the poses of a state, body to world, (bodies, 4, 4)."""
        found = np.tile(np.eye(4), (len(state), 1, 1))
        found[:, :3, :3] = Rotation.from_quat(state[:, _Q]).as_matrix()
        found[:, :3, 3] = state[:, _X]
        return found

    def angular_velocities(self, state: FloatArray) -> FloatArray:
        """Return the angular velocities of a state, world axes."""
        return Rotation.from_quat(state[:, _Q]).apply(state[:, _W])

    def contact_forces(self, state: FloatArray, time: float) -> dict[tuple[int, int], tuple]:
        """Return the result of `_Contacts.force` for every pair."""
        poses, turning = self.poses(state), self.angular_velocities(state)
        speeds = list(zip(state[:, _V], turning, strict=True))
        return {
            (i, j): self.contacts.force(pair, (poses[i], poses[j]), [speeds[i], speeds[j]], time)
            for (i, j), pair in self.pairs.items()
        }

    def derivative(self, state: FloatArray, time: float) -> FloatArray:
        """Return the derivative of a state, eq. 1."""
        force = np.array(self.mass)[:, None] * self._gravity
        torque = np.zeros_like(force)
        for (i, j), (_, size, normal, at) in self.contact_forces(state, time).items():
            for body, sign in ((i, -1.0), (j, 1.0)):
                push = sign * size * normal
                force[body] += push
                torque[body] += np.cross(at - state[body, _X], push)
        change = np.zeros_like(state)
        for k, body in enumerate(self.bodies):
            if body.fixed:
                continue
            x, y, z, w = state[k, _Q]
            spin, inertia = state[k, _W], np.array(self.inertia[k])
            change[k, _X] = state[k, _V]
            change[k, _V] = force[k] / self.mass[k]
            change[k, _Q] = 0.5 * (np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ spin)
            local = Rotation.from_quat(state[k, _Q]).apply(torque[k], inverse=True)
            change[k, _W] = (local - np.cross(spin, inertia * spin)) / inertia
        return change

    def step(self, state: FloatArray, time: float, h: float) -> FloatArray:
        """Integrate one time step, step (vii)."""
        k1 = self.derivative(state, time)
        k2 = self.derivative(state + 0.5 * h * k1, time + 0.5 * h)
        k3 = self.derivative(state + 0.5 * h * k2, time + 0.5 * h)
        k4 = self.derivative(state + h * k3, time + h)
        following = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        following[:, _Q] /= np.linalg.norm(following[:, _Q], axis=1)[:, None]
        return following

    def conserved_quantities(self, state: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return kinetic energy, momentum and angular momentum of all bodies except fixed ones."""
        free = [k for k, body in enumerate(self.bodies) if not body.fixed]
        mass, inertia = np.array(self.mass)[free], np.array(self.inertia)[free]
        rows = state[free]
        spin = inertia * rows[:, _W]
        energy = 0.5 * float((mass * (rows[:, _V] ** 2).sum(axis=1)).sum() + (spin * rows[:, _W]).sum())
        momenta = mass[:, None] * rows[:, _V]
        angular = np.cross(rows[:, _X], momenta) + Rotation.from_quat(rows[:, _Q]).apply(spin)
        return energy, momenta.sum(axis=0), angular.sum(axis=0)


def simulate(
    bodies: list[RigidBody],
    duration: float,
    step: float,
    *,
    law: str = "lankarani-nikravesh",
    restitution: float = 0.9,
    gravity: ArrayLike = (0.0, 0.0, 0.0),
    query: str = "spheres",
    tangents: str = "householder",
    jacobian: str = "analytic",
    atol: float = 1e-12,
    max_iterations: int = 50,
) -> Simulation:
    """Simulate the motion of free bodies in contact: the loop of section 6.

    Parameters
    ----------
    bodies : list of RigidBody
    duration, step : float
        Time to simulate and size of a time step, s. A contact must last many steps.
    law : {"hertz", "lankarani-nikravesh", "flores"}
        Normal force (module docstring), without friction.
    restitution : float
        e, in (0, 1]; Hertz's law has none.
    gravity : (3,) array_like
        World, m/s^2.
    query, tangents, jacobian, max_iterations
        As for `follow`.
    atol : float
        As for `follow`, m. Far below the paper's 1e-6 m: depths of stiff bodies are micrometres.

    Raises
    ------
    ContactError
        If the contact of a pair cannot be found; the message names pair and time.
    ValueError, TypeError
        If a body or an option is out of range.
    """
    _choice("law", law, LAWS)
    if not 0.0 < restitution <= 1.0:
        raise ValueError(f"restitution = {restitution!r}: must be in (0, 1]")
    for name, value in (("duration", duration), ("step", step)):
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} = {value!r}: must be positive (seconds)")
    g = np.asarray(gravity, dtype=np.float64)
    if g.shape != (3,) or not np.isfinite(g).all():
        raise ValueError(f"gravity = {gravity!r}: must be three finite numbers (m/s^2)")
    chosen = settings(tangents, jacobian, atol, max_iterations, True, query)
    system = _System(list(bodies), g, _Contacts(chosen, law, restitution))
    state = system.start()
    n = math.ceil(duration / step - 1e-9)
    times, states, seen = np.arange(n + 1) * step, np.empty((n + 1, *state.shape)), []
    for k, time in enumerate(times):
        states[k] = state
        contacts = system.contact_forces(state, time)
        seen.append(contacts)
        for key, (distance, *_) in contacts.items():
            if not distance < 0.0:  # separate: the next contact is a new one
                system.pairs[key].onset = None
        if k < n:
            state = system.step(state, time, step)
    conserved = [system.conserved_quantities(s) for s in states]
    tally = system.contacts.tally
    pairs = tuple(system.pairs)
    return Simulation(
        time=times,
        poses=np.array([system.poses(s) for s in states]),
        velocity=states[:, :, _V],
        angular_velocity=np.array([system.angular_velocities(s) for s in states]),
        pairs=pairs,
        distance=np.array([[contacts[key][0] for key in pairs] for contacts in seen]),
        force=np.array([[contacts[key][1] for key in pairs] for contacts in seen]),
        kinetic_energy=np.array([energy for energy, _, _ in conserved]),
        momentum=np.array([momentum for _, momentum, _ in conserved]),
        angular_momentum=np.array([angular for _, _, angular in conserved]),
        statistics=Statistics(**vars(tally)),
    )
