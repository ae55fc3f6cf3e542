# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A hypothesis strategy for damaged files: the bytes of a valid file with a few changes."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

PIECES = (b"", b"nan", b"1e400", b"-1", b"0", b"4294967295", b"\xe9", b"<a>", b"\xff" * 4, b"\x00\x00\x80\x7f", b"\n")
"""Inserted bytes: numbers in text and binary form, markup, non-text bytes."""


@st.composite
def damage(draw: Callable, good: bytes) -> bytes:
    """Return bytes after one to four changes: parts removed, repeated, overwritten or inserted, or one bit flipped."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(good)))
        end = min(len(good), start + draw(st.sampled_from((0, 1, 4, 30, 3000))))
        piece = draw(st.sampled_from(PIECES))
        times = draw(st.sampled_from((0, 1, 2, 30)))
        how = draw(st.sampled_from(("part", "put", "over", "flip")))
        if how == "part":
            good = good[:start] + times * good[start:end] + good[end:]
        elif how == "put":
            good = good[:start] + piece + good[start:]
        elif how == "over":
            good = good[:start] + piece + good[start + len(piece) :]
        elif start < len(good):
            good = good[:start] + bytes([good[start] ^ 1 << draw(st.integers(0, 7))]) + good[start + 1 :]
    return good
