# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

r"""Scalar kernels compiled for loops over lanes, with a logarithm and an exponential that LLVM vectorises.

A loop over lanes becomes SIMD code if its body is free of calls and of branches that matter. So a copy of each kernel
is inlined in the body of the loop, with all that it calls, and the logarithm and the exponential (`powers`) are range
reductions by bit operations and polynomials, with selects in place of branches. exp and log err by at most one unit in
the last place (tested).

    exp(y) = 2^k e^r,     k = round(y / ln 2),  |r| <= ln(2) / 2,       e^r = 1 + r + r^2 E(r)
    log(x) = k ln 2 + log(1 + f),  sqrt(1/2) <= 1 + f < sqrt(2),        s = f / (2 + f),
    log(1 + f) = 2 artanh(s) = f - s (f - s^2 L(s^2))

E and L are the Chebyshev fits of the exact series over these ranges, of degree 10 and 6. They are evaluated by pairs of
terms (Estrin's scheme): a processor computes the pairs side by side.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from superovoid.compiled import powers, vector
from superovoid.compiled.kernels import inline

_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # 21 zeros at the end: exact times any exponent
_LN2_LOW = 1.9082149292705877e-10
_ROUND = 1.5 * 2.0**52  # added, leaves the nearest integer in the last bits
_LEAST, _MOST = -708.0, 709.0  # exp is a normal number between
_SMALLEST_NORMAL = 2.3e-308
_SQRT2_LESS_1 = 0.41421356237309503
_SQRT_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64))
_ONE_BITS = 1023 << 52
_TWO_52_BITS = (1023 + 52) << 52

_E = (
    *(0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326141, 0.0013888888888883752),
    *(0.00019841269874800493, 2.4801587325533363e-05, 2.7557255425746435e-06, 2.7557273661348637e-07),
    *(2.510520637395701e-08, 2.0914679376583935e-09),
)
_L = (
    *(0.666666666666667, 0.39999999999899444, 0.2857142862600327, 0.22222211130259878, 0.18182889455674947),
    *(0.15331710618210773, 0.14616585424888623),
)


@inline
def exp(y):
    """e^y; 0 below -708, inf above 709."""
    shifted = y * _PER_LN2 + _ROUND
    k = shifted - _ROUND
    high, low = y - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    r_2 = r * r
    r_4 = r_2 * r_2
    tail = (_E[4] + r * _E[5]) + r_2 * (_E[6] + r * _E[7]) + r_4 * ((_E[8] + r * _E[9]) + r_2 * _E[10])
    curved = r_2 * ((_E[0] + r * _E[1]) + r_2 * (_E[2] + r * _E[3]) + r_4 * tail)
    value = 1.0 + (high + (curved - low))
    two_to_k = (np.float64(shifted).view(np.int64) << 52) + _ONE_BITS
    value *= float(np.int64(two_to_k).view(np.float64))
    value = 0.0 if y < _LEAST else value
    return math.inf if y > _MOST else value


@inline
def _sum_log(high, low, f):
    """Return high + low + log(1 + f), the rounding of the larger sum made up for."""
    s = f / (2.0 + f)
    z = s * s
    z_2 = z * z
    curved = s * (
        f - z * ((_L[0] + z * _L[1]) + z_2 * ((_L[2] + z * _L[3]) + z_2 * ((_L[4] + z * _L[5]) + z_2 * _L[6])))
    )
    value = high + f
    lost = (high - value) + f
    return value + ((low - curved) + lost)


@inline
def log(x):
    """ln x for x >= 0; -inf for zero and what is not a normal number."""
    bits = np.float64(x).view(np.int64)
    biased = (bits - _SQRT_HALF_BITS + _ONE_BITS) >> 52
    k = float(np.int64(biased | _TWO_52_BITS).view(np.float64)) - (2.0**52 + 1023.0)
    f = float(np.int64(bits - ((biased - 1023) << 52)).view(np.float64)) - 1.0
    value = _sum_log(k * _LN2_HIGH, k * _LN2_LOW, f)
    value = value if x < math.inf else x
    return -math.inf if x < _SMALLEST_NORMAL else value


@inline
def log_1p(x):
    """ln(1 + x) for 0 <= x <= 1."""
    upper = x > _SQRT2_LESS_1
    f = 0.5 * (x - 1.0) if upper else x
    return _sum_log(_LN2_HIGH if upper else 0.0, _LN2_LOW if upper else 0.0, f)


@inline
def rotate(rotation, a):
    """``R a``, R as nine numbers."""
    return (
        rotation[0] * a[0] + rotation[1] * a[1] + rotation[2] * a[2],
        rotation[3] * a[0] + rotation[4] * a[1] + rotation[5] * a[2],
        rotation[6] * a[0] + rotation[7] * a[1] + rotation[8] * a[2],
    )


@inline
def rotate_back(rotation, a):
    """``R^T a``, R as nine numbers."""
    return (
        rotation[0] * a[0] + rotation[3] * a[1] + rotation[6] * a[2],
        rotation[1] * a[0] + rotation[4] * a[1] + rotation[7] * a[2],
        rotation[2] * a[0] + rotation[5] * a[1] + rotation[8] * a[2],
    )


IN_LANES: dict[Any, Any] = {
    powers.exp: exp,
    powers.log: log,
    powers.log_1p: log_1p,
    vector.rotate: rotate,
    vector.rotate_back: rotate_back,
}
"""What loops over lanes call in place of a kernel."""


def in_lanes(function: Any) -> Any:
    """Compile a scalar kernel, and every kernel it calls, for the body of a loop over lanes.

    Parameters
    ----------
    function : kernel
        A kernel without loops; its branches become selects, so both sides are computed.

    Returns
    -------
    kernel
        The same formulas, inlined into all callers, with calls of kernels replaced as in `IN_LANES`.
    """
    if function not in IN_LANES:
        scalar = getattr(function, "python_function", function)  # of an entry point
        names: dict[str, Any] = dict(scalar.__globals__)
        for name in scalar.__code__.co_names:
            if "llvm" not in getattr(names.get(name), "kernel_options", {"llvm": None}):
                names[name] = in_lanes(names[name])
        IN_LANES[function] = inlined_copy(scalar, names)
    return IN_LANES[function]


def inlined_copy(function: Any, names: dict[str, Any]) -> Any:
    """Return a kernel of the same formulas, inlined into all its callers, with its global names."""
    return inline(FunctionType(function.__code__, names, f"{function.__name__}_in_lanes"))
