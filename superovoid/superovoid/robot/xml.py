# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""XML from anywhere, read without trust.

A robot description may come from a topic or a parameter that anybody can set.  So: no document type, no entities,
no network, a bounded size, and every number is checked before anything computes with it.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from superovoid.robot.errors import RobotDescriptionError

MAXIMUM_BYTES = 8_000_000
"""Largest document that is read. A humanoid with all its meshes named takes about 200 kB."""
MAXIMUM_NAME = 255
_MOST_DEPTH = 256  # elements inside each other
_MOST_WARNINGS = 100  # more are counted only

_PATH = re.compile(r"[^\n]{0,4096}(/[^\n]{0,4096}|\.(urdf|srdf|xacro|xml))")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class _ElementInside(ET.Element):
    """An element that knows the one around it."""

    __slots__ = ("parent",)
    parent: ET.Element | None


def parent_of(element: ET.Element) -> ET.Element | None:
    """Return the element around one of a parsed document; None for its root."""
    return getattr(element, "parent", None)


class _Builder(ET.TreeBuilder):
    """Builds the tree of a document without document type."""

    def __init__(self, before: str) -> None:
        super().__init__(element_factory=_ElementInside)
        self._before = before
        self._open: list[ET.Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> ET.Element:
        if len(self._open) >= _MOST_DEPTH:
            raise RobotDescriptionError(f"{self._before}nests elements deeper than {_MOST_DEPTH} levels")
        element = super().start(tag, attributes)
        assert isinstance(element, _ElementInside)
        element.parent = self._open[-1] if self._open else None
        self._open.append(element)
        return element

    def end(self, tag: str) -> ET.Element:
        self._open.pop()
        return super().end(tag)

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        words = "has a document type or entities, expected none (they can name files)"
        raise RobotDescriptionError(f"{self._before}{words}")


class Doubts:
    """What of a document does not fit: an error where it is read strictly, else a warning, and the rest counts.

    As a context it turns an error about one element into a warning.

    Parameters
    ----------
    strict : bool
        Whether the first is an error.
    """

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self._words: list[str] = []
        self._count = 0

    def warn(self, words: str) -> None:
        """Take a warning down, however the document is read."""
        self._count += 1
        if len(self._words) < _MOST_WARNINGS:
            self._words.append(words)

    def note(self, words: str) -> None:
        """Take a doubt down; `RobotDescriptionError` where the document is read strictly."""
        if self.strict:
            raise RobotDescriptionError(words)
        self.warn(words)

    def words(self, kind: str) -> tuple[str, ...]:
        """Return the warnings about a kind of document, and how many more there are."""
        more = self._count - len(self._words)
        return (*self._words, *([f"{kind}: {more} more elements do not fit; they are ignored"] if more else ()))

    def __enter__(self) -> Doubts:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self.strict or not isinstance(error, RobotDescriptionError):
            return False
        self.warn(str(error))
        return True


def parse_document(text: str, kind: str, root: str) -> ET.Element:
    """Parse ``text`` into an element tree.

    Parameters
    ----------
    text : str
        The document.
    kind : str
        What it is, for messages: ``"URDF"`` or ``"SRDF"``.
    root : str
        Tag the root element must have.

    Raises
    ------
    RobotDescriptionError
        If it is no text, empty, too long, has a document type or entities, is malformed, or has another root.
    """
    if not isinstance(text, str):
        hint = "; Robot.load() reads files" if isinstance(text, os.PathLike) else ""
        raise RobotDescriptionError(f"{kind}: is {type(text).__name__}, expected text{hint}")
    if not text.strip():
        raise RobotDescriptionError(f"{kind}: is empty, expected a document with root <{root}>")
    if "<" not in text and _PATH.fullmatch(text):
        raise RobotDescriptionError(
            f"{kind}: '{short(text)}' is no XML but looks like a path; expected the text of the document "
            "(Robot.load() reads files)"
        )
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{kind}: holds a character that is no text ({error.reason})") from None
    if len(data) > MAXIMUM_BYTES:
        raise RobotDescriptionError(f"{kind}: {len(data)} bytes, expected at most {MAXIMUM_BYTES}")
    try:
        element = parse_bytes(data, f"{kind}: ", "utf-8")
    except ET.ParseError as error:
        raise RobotDescriptionError(f"{kind}: is no well-formed XML: {error}") from None
    if element.tag != root:
        raise RobotDescriptionError(f"{kind}: the root element is <{element.tag}>, expected <{root}>")
    return element


def parse_bytes(data: bytes, before: str, encoding: str | None = None) -> ET.Element:
    """Parse a document of any root.

    Parameters
    ----------
    data : bytes
        The document.
    before : str
        What the words of an error begin with.
    encoding : str, optional
        Of the data, whatever the document says; default: what the document says.

    Raises
    ------
    RobotDescriptionError
        If it has a document type, in whatever encoding, or elements that nest too deeply.
    xml.etree.ElementTree.ParseError
        If it is malformed, or its encoding is unknown.
    """
    builder = _Builder(before)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        builder.doctype("", None, None)
    # In other encodings than UTF-8 the parser finds them.
    try:
        parser = ET.XMLParser(target=builder, encoding=encoding)
        parser.feed(data)
        return parser.close()
    except RobotDescriptionError:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or expat cannot read
        raise ET.ParseError(str(error)) from None


def describe(element: ET.Element | None) -> str:
    """An element in a few words for messages, with the named elements around it: ``link 'palm' collision``."""
    words = []
    while element is not None and parent_of(element) is not None:
        name = element.get("name")
        words.append(f"{element.tag} '{short(name)}'" if name else str(element.tag))
        element = parent_of(element)
    return " ".join(reversed(words)) or "robot"


def name_of(element: ET.Element, kind: str, attribute: str = "name") -> str:
    """A name that must be there."""
    value = element.get(attribute)
    if value is None or not value.strip():
        raise RobotDescriptionError(f"{kind}: {describe(element)}: has no attribute {attribute}")
    if len(value) > MAXIMUM_NAME:
        raise RobotDescriptionError(
            f"{kind}: {describe(element)}: {attribute} has {len(value)} characters, expected at most {MAXIMUM_NAME}"
        )
    return value


def numbers(
    element: ET.Element,
    attribute: str,
    count: int,
    kind: str,
    *,
    limit: float,
    default: tuple[float, ...] | None = None,
) -> tuple[float, ...]:
    """The numbers of an attribute.

    Parameters
    ----------
    count : int
        How many there must be.
    limit : float
        Largest magnitude that makes sense; more is an error.
    default : tuple of float, optional
        What a missing attribute means; without it the attribute must be there.

    Raises
    ------
    RobotDescriptionError
        If the attribute is missing, has another count, or an entry that is no finite number within the limit.
    """
    text = element.get(attribute)
    where = f"{kind}: {describe(element)}: {attribute}"
    if text is None:
        if default is None:
            raise RobotDescriptionError(f"{where} is missing")
        return default
    words = text.split()
    if len(words) != count:
        raise RobotDescriptionError(f"{where} = '{short(text)}': {len(words)} numbers, expected {count}")
    values = []
    for word in words:
        value = float(word) if len(word) <= 64 and _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise RobotDescriptionError(f"{where} = '{short(text)}': '{short(word)}' is not a finite number")
        if abs(value) > limit:
            raise RobotDescriptionError(f"{where} = '{short(text)}': {word} is absurd, expected at most {limit:g}")
        values.append(value)
    return tuple(values)


def short(text: str, most: int = 60) -> str:
    """A text, cut where it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """The first of some names."""
    return separator.join(names[:6]) + (f"{separator}..." if len(names) > 6 else "")
