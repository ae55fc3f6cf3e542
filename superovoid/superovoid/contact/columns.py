# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Columns of the rows that travel with a pair: the result, and the state that an answer leaves for the next one."""

from __future__ import annotations

# A result.
DISTANCE, LOWER, UPPER, POINT_A, POINT_B, NORMAL, STATUS, ITERATIONS = 0, 1, 2, 3, 6, 9, 12, 13
RESULT_LENGTH = 14

# A verdict of `deciding.decide_within`.
VERDICT_LENGTH = 5

# A state of two superovoids: the two surface points of the last answer, all zero for none. Its first number is
# `NO_CONTACT`, which no point has there, if Newton's method has already failed at the poses of the next answer.
STATE_LENGTH = 16
NO_CONTACT = -2.0

# A state of other pairs: the order that has a start (0: none), and its direction.
STARTED, START = 0, 1
