# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""XML parser for untrusted documents.

A robot description may come from a topic or a parameter that any process can set. Therefore the parser rejects document
types and entities, opens no network connection, limits the size, and checks every number.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from superovoid.robot.errors import RobotDescriptionError

MAXIMUM_BYTES = 8_000_000
"""Largest accepted document. The URDF of a humanoid has about 200 kB."""
MAXIMUM_NAME = 255
_MOST_DEPTH = 256  # levels of nested elements
_MOST_WARNINGS = 100  # further warnings are only counted

_PATH = re.compile(r"[^\n]{0,4096}(/[^\n]{0,4096}|\.(urdf|srdf|xacro|xml))")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class _ChildElement(ET.Element):
    """An element with a reference to its parent."""

    __slots__ = ("parent",)
    parent: ET.Element | None


def parent_of(element: ET.Element) -> ET.Element | None:
    """Return the parent of an element of a parsed document; None for the root."""
    return getattr(element, "parent", None)


class _Builder(ET.TreeBuilder):
    """Tree builder that rejects document types and deep nesting."""

    def __init__(self, before: str) -> None:
        super().__init__(element_factory=_ChildElement)
        self._before = before
        self._open: list[ET.Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> ET.Element:
        if len(self._open) >= _MOST_DEPTH:
            raise RobotDescriptionError(f"{self._before}nests elements deeper than {_MOST_DEPTH} levels")
        element = super().start(tag, attributes)
        assert isinstance(element, _ChildElement)
        element.parent = self._open[-1] if self._open else None
        self._open.append(element)
        return element

    def end(self, tag: str) -> ET.Element:
        self._open.pop()
        return super().end(tag)

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        words = "has a document type or entities, expected none (they can name files)"
        raise RobotDescriptionError(f"{self._before}{words}")


class Problems:
    """Problems of a document: the first is an error in strict mode; otherwise they are warnings, and the rest is read.

    As a context manager it turns a `RobotDescriptionError` about one element into a warning, unless in strict mode.

    Parameters
    ----------
    strict : bool
        Whether the first problem is an error.
    """

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self._words: list[str] = []
        self._count = 0

    def warn(self, words: str) -> None:
        """Add a warning, also in strict mode."""
        self._count += 1
        if len(self._words) < _MOST_WARNINGS:
            self._words.append(words)

    def report(self, words: str) -> None:
        """Add a warning; in strict mode, raise `RobotDescriptionError` instead."""
        if self.strict:
            raise RobotDescriptionError(words)
        self.warn(words)

    def warnings(self, kind: str) -> tuple[str, ...]:
        """Return the warnings about a kind of document, and the number of further ones."""
        more = self._count - len(self._words)
        return (*self._words, *([f"{kind}: {more} more elements are invalid; they are ignored"] if more else ()))

    def __enter__(self) -> Problems:
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
        Kind of document, for messages: ``"URDF"`` or ``"SRDF"``.
    root : str
        Required tag of the root element.

    Raises
    ------
    RobotDescriptionError
        If the document is not a string, is empty, too long or malformed, has a document type or entities, or has a
        different root.
    """
    if not isinstance(text, str):
        hint = "; Robot.load() reads files" if isinstance(text, os.PathLike) else ""
        raise RobotDescriptionError(f"{kind}: is {type(text).__name__}, expected text{hint}")
    if not text.strip():
        raise RobotDescriptionError(f"{kind}: is empty, expected a document with root <{root}>")
    if "<" not in text and _PATH.fullmatch(text):
        raise RobotDescriptionError(
            f"{kind}: '{shorten(text)}' is not XML but looks like a path; expected the text of the document "
            "(Robot.load() reads files)"
        )
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{kind}: has a character that cannot be encoded ({error.reason})") from None
    if len(data) > MAXIMUM_BYTES:
        raise RobotDescriptionError(f"{kind}: {len(data)} bytes, expected at most {MAXIMUM_BYTES}")
    try:
        element = parse_bytes(data, f"{kind}: ", "utf-8")
    except ET.ParseError as error:
        raise RobotDescriptionError(f"{kind}: is not well-formed XML: {error}") from None
    if element.tag != root:
        raise RobotDescriptionError(f"{kind}: the root element is <{element.tag}>, expected <{root}>")
    return element


def parse_bytes(data: bytes, before: str, encoding: str | None = None) -> ET.Element:
    """Parse a document with any root element.

    Parameters
    ----------
    data : bytes
        The document.
    before : str
        Prefix of error messages.
    encoding : str, optional
        Encoding of the data, which overrides the declaration in the document; default: as declared.

    Raises
    ------
    RobotDescriptionError
        If the document has a document type, in any encoding, or its elements are nested too deeply.
    xml.etree.ElementTree.ParseError
        If the document is malformed, or its encoding is unknown.
    """
    builder = _Builder(before)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        builder.doctype("", None, None)
    # The parser finds document types in encodings other than UTF-8.
    try:
        parser = ET.XMLParser(target=builder, encoding=encoding)
        parser.feed(data)
        return parser.close()
    except RobotDescriptionError:
        raise
    except (LookupError, ValueError) as error:  # an encoding unknown to Python, or unsupported by expat
        raise ET.ParseError(str(error)) from None


def describe(element: ET.Element | None) -> str:
    """Return a short description of an element and its ancestors, for messages: ``link 'palm' collision``."""
    words = []
    while element is not None and parent_of(element) is not None:
        name = element.get("name")
        words.append(f"{element.tag} '{shorten(name)}'" if name else str(element.tag))
        element = parent_of(element)
    return " ".join(reversed(words)) or "robot"


def name_of(element: ET.Element, kind: str, attribute: str = "name") -> str:
    """Return a required attribute with a name."""
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
    """Return the numbers of an attribute.

    Parameters
    ----------
    count : int
        Required count of numbers.
    limit : float
        Largest allowed magnitude.
    default : tuple of float, optional
        Result if the attribute is missing; without a default the attribute is required.

    Raises
    ------
    RobotDescriptionError
        If the attribute is missing, has a wrong count, or an entry other than a finite number within the limit.
    """
    text = element.get(attribute)
    where = f"{kind}: {describe(element)}: {attribute}"
    if text is None:
        if default is None:
            raise RobotDescriptionError(f"{where} is missing")
        return default
    words = text.split()
    if len(words) != count:
        raise RobotDescriptionError(f"{where} = '{shorten(text)}': {len(words)} numbers, expected {count}")
    values = []
    for word in words:
        value = float(word) if len(word) <= 64 and _NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise RobotDescriptionError(f"{where} = '{shorten(text)}': '{shorten(word)}' is not a finite number")
        if abs(value) > limit:
            raise RobotDescriptionError(f"{where} = '{shorten(text)}': {word} is too large, expected at most {limit:g}")
        values.append(value)
    return tuple(values)


def shorten(text: str, most: int = 60) -> str:
    """Return a text, truncated to at most `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def join_names(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first six of some names as a list in words."""
    return separator.join(names[:6]) + (f"{separator}..." if len(names) > 6 else "")
