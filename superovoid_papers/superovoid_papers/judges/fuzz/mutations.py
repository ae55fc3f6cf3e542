# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Strategies that make wrong inputs of right ones: of bytes whatever they are, and of XML by its structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

from hypothesis import strategies as st
from lxml import etree

NUMBERS = (
    "nan", "inf", "-inf", "0", "-0", "-1", "1e-320", "1e-100", "1e308", "-1e308", "1e999", "0x10", "1_0", "1e-9",
    "99999999999999999999", "4294967295", "4294967296", "2147483648", "-2147483648", "١", "1,5", "",
)  # fmt: skip
NAMES = (
    "", " ", "a", "b", "../../etc/passwd", "a\tb", "<", "&lt;", "ü", "\u202e", "\U0001f916", "%s%n", "x" * 255,
    "x" * 256, "x" * 70_000, "a/0", "/", "<octomap>", "world", "\\", '"',
)  # fmt: skip
TAGS = (
    "robot", "link", "joint", "group", "chain", "disable_collisions", "enable_collisions", "virtual_joint", "origin",
    "collision", "geometry", "mesh", "sphere", "superovoid", "contact_geometry", "mimic", "limit", "axis", "visual",
)  # fmt: skip


_COUNTS = (1, 2, 3, 4, 10, 17, 100, 300, 1_000, 3_000, 30_000, 300_000)


def repeated(low: int = 1, high: int = 30_000) -> st.SearchStrategy[int]:
    """How often: of every order of magnitude, as often few as very many."""
    return st.sampled_from([low, *(count for count in _COUNTS if low < count <= high)])


@st.composite
def mutated(draw: Callable, corpus: Sequence[bytes], tokens: Sequence[bytes] = ()) -> bytes:
    """One of the corpus after up to four changes: cut, doubled, overwritten, truncated, something put in."""
    data = draw(st.sampled_from(list(corpus)))
    pieces = st.sampled_from([*tokens, *(number.encode() for number in NUMBERS)]) | st.binary(max_size=12)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(repeated(0, 3_000)))
        how = draw(st.sampled_from(("cut", "double", "put", "over", "end", "flip", "number")))
        if how == "cut":
            data = data[:start] + data[end:]
        elif how == "double":
            times = min(draw(repeated(2, 3_000)), 2_000_000 // max(1, end - start))
            data = data[:start] + data[start:end] * max(1, times) + data[end:]
        elif how == "put":
            data = data[:start] + draw(pieces) + data[start:]
        elif how == "over":
            piece = draw(pieces)
            data = data[:start] + piece + data[start + len(piece) :]
        elif how == "end":
            data = data[:start]
        elif how == "flip" and start < len(data):
            data = data[:start] + bytes([data[start] ^ (1 << draw(st.integers(0, 7)))]) + data[start + 1 :]
        elif how == "number" and start + 4 <= len(data):
            number = draw(st.sampled_from((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x7FC00000, 1 << 24)))
            data = data[:start] + number.to_bytes(4, draw(st.sampled_from(("little", "big")))) + data[start + 4 :]
    return data


@st.composite
def restructured(draw: Callable, corpus: Sequence[bytes], tags: Sequence[str] = TAGS) -> bytes:
    """An XML document of the corpus after up to five changes of its elements."""
    root = etree.fromstring(draw(st.sampled_from(list(corpus))))
    for _ in range(draw(st.integers(1, 5))):
        elements = list(root.iter(etree.Element))
        element = elements[draw(st.integers(0, len(elements) - 1))]
        how = draw(
            st.sampled_from(("attribute", "attribute", "drop", "copy", "move", "wrap", "rename", "attributes", "text"))
        )
        if how == "attribute" and element.attrib:
            name = draw(st.sampled_from(sorted(element.attrib)))
            _set(element, name, draw(_values(element.get(name))))
        elif how == "drop" and element.getparent() is not None:
            element.getparent().remove(element)
        elif how == "copy" and element.getparent() is not None:
            for number in range(draw(repeated(1, 3_000 if len(element) < 10 else 30))):
                copy = deepcopy(element)  # read anew, one that lies deep would be refused
                copy.tail = None
                if copy.get("name") and draw(st.booleans()) if number < 3 else copy.get("name"):
                    copy.set("name", f"{copy.get('name')}{number}"[:300])
                element.getparent().append(copy)
        elif how == "move":
            other = elements[draw(st.integers(0, len(elements) - 1))]
            if element is not root and other not in element.iter():
                other.append(element)
        elif how == "wrap" and element.getparent() is not None:
            tag = draw(st.sampled_from(list(tags)))
            for _ in range(draw(repeated(1, 300))):
                outer = etree.Element(tag)
                element.getparent().replace(element, outer)
                outer.append(element)
        elif how == "rename":
            element.tag = draw(st.sampled_from(list(tags)))
        elif how == "attributes":
            element.attrib.clear()
        elif how == "text":
            element.text = draw(st.sampled_from(("nan", "1 2 3", "x" * 10_000)))
    data = etree.tostring(root)
    return data


def _values(present: str) -> st.SearchStrategy[str]:
    """What may stand in an attribute instead: names, numbers, as many numbers, or words of what is there."""
    words = present.split()
    lists = st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=max(1, len(words))).map(" ".join)
    one = st.tuples(st.integers(0, max(0, len(words) - 1)), st.sampled_from(NUMBERS)).map(
        lambda chosen: " ".join([*words[: chosen[0]], chosen[1], *words[chosen[0] + 1 :]])
    )
    return st.sampled_from(NAMES) | lists | one | st.text(max_size=20)


def _set(element: etree._Element, name: str, value: str) -> None:
    """Set an attribute to what XML can hold of a value."""
    element.set(
        name,
        "".join(
            c
            for c in value
            if c in "\t\n\r" or (ord(c) >= 32 and not 0xD800 <= ord(c) < 0xE000 and ord(c) not in (0xFFFE, 0xFFFF))
        ),
    )
