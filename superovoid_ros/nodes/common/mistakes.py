# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The error for mistakes of callers, and the texts of errors in responses and logs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from superovoid.values.checks import is_refusal

LOG_PERIOD = 5.0
"""Shortest period of a repeated log message (such as no joint states, no transform), s."""
INTERNAL = "INTERNAL"
"""Prefix of a response's message if a bug of the node prevents an answer."""

LONGEST_NAME = 1000
"""Largest number of characters in the name of a joint or frame. Longer ones are refused, since names are stored."""

_MOST_WORDS = 1000  # characters in the message of a response or in a log line
_MOST_NAME = 80  # characters of a name in a list
_MOST_NAMES = 12  # of a list
_traced: set[object] = set()  # types and places of errors whose tracebacks were printed


class Code(IntEnum):
    """Reason for a refused request: `superovoid_interfaces/msg/ErrorCode`."""

    SUCCESS = 0
    INVALID_REQUEST = 1
    UNKNOWN_FRAME = 2
    UNKNOWN_LINK = 3
    INACTIVE = 4
    NO_ROBOT = 5
    READING = 6
    INCOMPLETE_WORLD = 7
    NOT_MEASURED = 8
    BUSY = 9
    CANCELLED = 10
    INTERNAL = 11


LATER = frozenset((Code.INACTIVE, Code.NO_ROBOT, Code.READING, Code.INCOMPLETE_WORLD, Code.BUSY))
"""Codes of refusals that may end without another measurement."""


class InputError(ValueError):
    """An invalid request, message or parameter; the text names it, the value found and the value expected.

    Parameters
    ----------
    words
        Message for users.
    code
        Code for programs.
    """

    def __init__(self, words: str, code: Code = Code.INVALID_REQUEST) -> None:
        super().__init__(words)
        self.code = code


def code_of(error: BaseException) -> Code:
    """Return the code of an error; an error other than `InputError` is a bug of the node."""
    return error.code if isinstance(error, InputError) else Code.INTERNAL


class UnreadableError(InputError):
    """Bytes received on a topic that are not a message of its type."""


def check_name(name: str, what: str) -> None:
    """Raise `InputError` if a name is too long to store."""
    if len(name) > LONGEST_NAME:
        raise InputError(f"{what} has {len(name)} characters ({shorten(name, 80)}): must be at most {LONGEST_NAME}")


@contextmanager
def refusals(what: str = "", remedy: str = "", code: Code = Code.INVALID_REQUEST) -> Iterator[None]:
    """Convert the library's errors about a caller's data to `InputError`; use it wherever such data enter the library.

    The library refuses data by raising `ValueError`. NumPy and the interpreter raise it too, for bugs of this package
    (arrays that do not fit, a singular matrix); these errors pass unchanged.

    Parameters
    ----------
    what, remedy
        Text before and after the library's message, separated by colons.
    code
        Code of the error.
    """
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise InputError(": ".join(filter(None, (what, str(error), remedy))), code) from error


def shorten(words: object, most: int = _MOST_WORDS) -> str:
    """Return text on one line, with unprintable characters escaped and the middle of long text omitted."""
    words = str(words)
    if len(words) > most:
        begin, end = words[: 2 * most // 3], words[-most // 3 :]
        words = f"{begin} ...[{len(words) - len(begin) - len(end)} characters]... {end}"
    return words if words.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def listing(names: object) -> str:
    """Return names as a readable list for an error message, cut after `_MOST_NAMES`."""
    names = sorted(map(str, names))
    shown = ", ".join(shorten(name, _MOST_NAME) for name in names[:_MOST_NAMES])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > _MOST_NAMES else shown or "none"


def reason_of(error: BaseException) -> str:
    """Return a message for a response or log.

    Only an `InputError` is the caller's mistake. Any other error is a bug of the node: the message says so, and the
    traceback is printed at its first occurrence. The node keeps running.
    """
    if isinstance(error, InputError):
        return shorten(error)
    trace(error)
    return f"{INTERNAL}: {shorten(repr(error), 300)}: a bug of the node, not of the request; see its output"


def drop_tracebacks(error: object) -> None:
    """Drop the tracebacks of an `InputError` and its causes, which are not printed.

    Their frames hold messages and scenes. If a frame also refers to the error, all would stay until a full garbage
    collection.
    """
    one = error if isinstance(error, InputError) else None
    while one is not None:
        one.__traceback__, one = None, one.__cause__ or one.__context__


def trace(error: BaseException) -> None:
    """Print the traceback of an error, once for each place that raises it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = type(error), *((one.filename, one.lineno) for one in last)
    if place not in _traced:
        _traced.add(place)
        traceback.print_exception(error, limit=50)
