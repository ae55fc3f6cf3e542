# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A NaN proves nothing as a bound: `max` and `min` in compiled code ignore a NaN in second place."""

import math

import numpy as np
import pytest

from superovoid import Superovoid
from superovoid.contact.pair import Pair
from superovoid.contact.superovoids.inner_bodies import _interval_growth
from superovoid.contact.superovoids.nearest_pieces import NearestPoints, cores_of, nearest_of_pieces
from superovoid.shapes.kernels import surface
from superovoid.shapes.kernels.concavities import _curvature_between
from superovoid.shapes.kernels.support_function import EXACT, parabola_bound, slice_at, support_candidate

NAN = math.nan


def test_nan_directions_do_not_prove_pieces_apart():
    """The bodies overlap: no direction proves a positive distance."""
    a, b = (
        Superovoid((1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=1.9, taper=(0.4, 0.4)),
        Superovoid((0.3, 0.3, 0.3), section_exponent=1.0, profile_exponent=1.8, taper=(0.3, -0.3)),
    )
    pair = Pair(a._packed_row, b._packed_row, np.eye(3), (0.5, 0.0, 0.0))
    fa = support_candidate(a._packed_row, (1.0, 0.0, 0.0), EXACT)
    fb = support_candidate(b._packed_row, (-1.0, 0.0, 0.0), EXACT)
    x, y = surface.position(a._packed_row, fa), tuple(np.add(pair.centre, surface.position(b._packed_row, fb)).tolist())
    cores = cores_of(pair)
    for n in ((1.0, 0.0, 0.0), (NAN, NAN, NAN), (1.0, NAN, 0.0)):
        assert nearest_of_pieces(cores, n, NearestPoints(0.01, x, y, fa, fb), 1e-9, math.inf, 1e-13, 1000).lower < 0.0


@pytest.mark.parametrize("curvature", [NAN, math.inf])
def test_curvatures_without_a_bound_bound_no_profile(curvature):
    body = Superovoid((1.0, 1.0, 1.0), section_exponent=1.0, profile_exponent=1.9, taper=(0.4, 0.4))._packed_row
    left, right = (slice_at(body, (1.0, 0.0, 0.2), w) for w in (-0.3, 0.4))
    assert parabola_bound(left, right, 1.0) < math.inf
    assert parabola_bound(left, right, curvature) == math.inf


def test_a_concavity_that_ends_at_a_pole_has_unbounded_curvature():
    """r / y^2 is infinite at the pole, whatever factor multiplies it."""
    of_body = 1.001, 0.001, 0.36, -0.4, -0.2
    assert 0.0 < _curvature_between(0.8, 0.9, 1.0, 1.0, *of_body) < math.inf
    assert _curvature_between(0.8, 1.0, 1.0, 1.0, *of_body) == math.inf
    assert _curvature_between(0.8, 1.0, NAN, NAN, 1.001, NAN, *of_body[2:]) == math.inf


def test_nan_growth_does_not_count_as_zero():
    growth = _interval_growth(0.2, 0.4, 0.05, 0.2, NAN, 1.9, 0.9, 0.3, NAN, 0.2, True, 0.1, 0.2)
    assert not growth < math.inf
