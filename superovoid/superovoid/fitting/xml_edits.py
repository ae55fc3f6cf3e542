# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edit an XML document as text; everything else is kept, including comments and white space.

The document must be accepted by `superovoid.robot.xml.parse_document`: without document type or entities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

_DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
_VALUE = rb"""\s*=\s*(?:"[^"]*"|'[^']*')"""
_ATTRIBUTE = re.compile(rb"([^\s=]+)" + _VALUE)
_START_TAG = re.compile(rb"<[^\s/>]+(?:\s+[^\s=]+" + _VALUE + rb")*\s*/?>")


@dataclass
class Place:
    """Byte offsets of an element in a document."""

    tag: str
    attributes: dict[str, str]
    start: int
    inside: int
    """just after the start tag"""
    end: int = 0
    """just after the element"""
    children: list[Place] = field(default_factory=list)


class Edits:
    """A document and pending edits; `text` applies them.

    Parameters
    ----------
    text : str
        The document.

    Attributes
    ----------
    root : Place
        Its root element.
    """

    def __init__(self, text: str) -> None:
        self._data = re.sub(r"\A[\ufeff\s]*(<\?xml[^>]*\?>\s*)?", "", text).encode()
        self._edits: list[tuple[int, int, str]] = []
        parser = expat.ParserCreate("utf-8")
        around = [Place("", {}, 0, 0)]

        def start(tag: str, attributes: dict[str, str]) -> None:
            match = _START_TAG.match(self._data, parser.CurrentByteIndex)
            assert match is not None
            around[-1].children.append(Place(tag, attributes, *match.span()))
            around.append(around[-1].children[-1])

        def end(_tag: str) -> None:
            place = around.pop()
            closed = self._is_empty(place)
            place.end = place.inside if closed else self._data.index(b">", parser.CurrentByteIndex) + 1

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(self._data, True)
        (self.root,) = around[0].children

    def _is_empty(self, place: Place) -> bool:
        """Return whether an element is written as <tag/>."""
        return self._data.endswith(b"/>", place.start, place.inside)

    def set(self, place: Place, name: str, value: str) -> None:
        """Set an attribute of an element."""
        new = f"{name}={quoteattr(value)}"
        for match in _ATTRIBUTE.finditer(self._data, place.start + 1 + len(place.tag.encode()), place.inside):
            if match[1].decode() == name:
                self._edits.append((*match.span(), new))
                return
        at = place.inside - (2 if self._is_empty(place) else 1)
        self._edits.append((at, at, f" {new}"))

    def remove(self, places: Sequence[Place]) -> None:
        """Remove elements with a common parent, given in document order, each with its line; keep text around them."""
        last = -1
        for place in reversed(places):
            behind = self._skip(place.end, 1)
            if behind == last or self._data.startswith(b"</", behind):
                last = place.start
                self._edits.append((self._skip(place.start, -1), place.end, ""))
            else:
                is_text = not self._data.startswith(b"<", behind)
                self._edits.append((place.start, place.end if is_text else behind, ""))

    def append(self, place: Place, elements: Sequence[str], indent: str = "    ") -> None:
        """Append elements to `place`, each on its own line and indented like the first child."""
        if place.children:
            first = place.children[0].start
            line = self._data[self._data.rfind(b"\n", place.start, first) + 1 : first].decode()
            indent = line if line.isspace() else indent
        lines = "".join(f"\n{indent}{_indent(element, indent)}" for element in elements) + f"\n{indent[:-2]}"
        if self._is_empty(place):
            self._edits.append((place.end - 2, place.end, f">{lines}</{place.tag}>"))
        else:
            end = self._data.rindex(b"</", place.start, place.end)
            self._edits.append((self._skip(end, -1), end, lines))

    def _skip(self, at: int, step: int) -> int:
        """Return the end of the white space that starts at `at`, forwards (step 1) or backwards (-1)."""
        data = self._data
        while 0 < at < len(data) and data[at if step > 0 else at - 1 : at + 1 if step > 0 else at].isspace():
            at += step
        return at

    def text(self) -> str:
        """Return the edited document."""
        at, parts = 0, [_DECLARATION.encode()]
        for start, end, new in sorted(self._edits):
            parts += [self._data[at:start], new.encode()]
            at = max(at, end)
        return b"".join([*parts, self._data[at:]]).decode().rstrip() + "\n"


def element(tag: str, attributes: Mapping[str, str], children: Sequence[str] = (), *, text: str = "") -> str:
    """Return an element as XML, with children indented by two spaces, or with text."""
    start = f"<{tag}" + "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    lines = "".join(f"\n  {_indent(child, '  ')}" for child in children)
    if text:
        return f"{start}>{escape(text)}</{tag}>"
    return f"{start}>{lines}\n</{tag}>" if children else f"{start}/>"


def _indent(text: str, indent: str) -> str:
    return text.replace("\n", f"\n{indent}")
