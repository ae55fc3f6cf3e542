# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bytes of a valid file with a few changes, as a strategy of hypothesis."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

PIECES = (b"", b"nan", b"1e400", b"-1", b"0", b"4294967295", b"\xe9", b"<a>", b"\xff" * 4, b"\x00\x00\x80\x7f", b"\n")
"""What is put in: numbers in text and in binary, markup, bytes that are no text."""


@st.composite
def damaged(draw: Callable, good: bytes) -> bytes:
    """Bytes after one to four changes: cut, repeated, overwritten, put in, or one bit changed."""
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
