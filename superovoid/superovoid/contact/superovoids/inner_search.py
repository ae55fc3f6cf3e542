# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""How deep two overlapping bodies with dents are at least: the depth of convex bodies inside them.

The inner bodies (`inner_bodies`) share the surfaces of the bodies at the contact, so that their depth may be that of
the contact. They are convex: their depth is the least h_M over all directions, M the difference of the two. It is
bounded by the loop of `search`, with points of the inner bodies; but the least h_M is known here.
"""

from __future__ import annotations

import math

import numpy as np

from superovoid.compiled.kernels import kernel, out_of_line
from superovoid.contact.superovoids.cap_lanes import largest_cap
from superovoid.contact.superovoids.caps import Cap
from superovoid.contact.superovoids.direction_lanes import LENGTH, WIDTH
from superovoid.contact.superovoids.direction_net import Problem, new_net
from superovoid.contact.superovoids.inner_bodies import COLUMNS, NODES, Inner, fill_shares
from superovoid.contact.superovoids.search import Minimum, ball_radius, cover, refine_all

_REFUTED = 1.0 - 1e-4  # of the target: inner bodies that are no deeper along a direction cannot prove it


@kernel(_nrt=True, separate=True)
def inner_depth(pair, fa, fb, n, target, budget):
    """Lower bound of the depth of two bodies, from a contact.

    Parameters
    ----------
    fa, fb : SurfacePoint
        The contact, Newton's.
    n : tuple
        Its normal.
    target : float
        Depth to prove, a little less than that of the contact.
    budget : int
        Support points that may be spent.

    Returns
    -------
    float
        At least the target where that is proved; -inf where no inner bodies of the bodies are known.
    """
    out_of_line()
    a, b = pair.a, pair.b
    rows_a, rows_b = np.empty((2, NODES, COLUMNS)), np.empty((2, NODES, COLUMNS))
    lo_a, hi_a, known_a = fill_shares(a, fa.w, rows_a)
    lo_b, hi_b, known_b = fill_shares(b, fb.w, rows_b)
    if not (known_a and known_b):
        return -math.inf
    inner_a, inner_b = Inner(lo_a, hi_a, rows_a), Inner(lo_b, hi_b, rows_b)
    cap = largest_cap(pair, fa, fb)
    problem = Problem(pair, ball_radius(pair), 0.0, 0.0, 0, True, inner_a, inner_b, _REFUTED * target)
    known = cap if cap.floor >= target else Cap(0.0, 0.0)
    net, lanes = new_net(budget + 2 * WIDTH), np.zeros(LENGTH)
    best, proved = cover(problem, Minimum(target, n, fa, fb, False, known), net, lanes)
    _, proved = refine_all(problem, best, proved, net, lanes, budget)
    return proved
