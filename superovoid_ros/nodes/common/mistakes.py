# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The one error of the nodes that stands for a mistake of the caller, and texts for answers and logs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from superovoid.values.checks import is_refusal

LOG_PERIOD = 5.0
"""[s] A message that repeats (no joint states, no transform) is logged at most this often."""
INTERNAL = "INTERNAL"
"""Prefix of the message of an answer if an error of the node prevents an answer."""

LONGEST_NAME = 1000
"""Characters of the name of a joint or frame; longer ones are refused, since names are kept."""

_MOST_WORDS = 1000  # characters of an answer's message or a line of the log
_MOST_NAME = 80  # characters of a name in a list
_MOST_TRACEBACK = 10_000  # characters
_TRACEBACKS = 100  # different ones printed by a process
_traced: set[tuple[type, str, int]] = set()


class Code(IntEnum):
    """Why a request is refused: `superovoid_interfaces/msg/ErrorCode`."""

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
"""Codes of requests that the node may answer later, without another measurement."""


class InputError(ValueError):
    """An invalid request, message or parameter; the text names it, what was found and what is expected.

    Parameters
    ----------
    words
        For people.
    code
        For programs.
    """

    def __init__(self, words: str, code: Code = Code.INVALID_REQUEST) -> None:
        super().__init__(words)
        self.code = code


def code_of(error: BaseException) -> Code:
    """Return the code of an error: what is not the caller's mistake is one of the node."""
    return error.code if isinstance(error, InputError) else Code.INTERNAL


class UnreadableError(InputError):
    """Bytes that came on a topic are no message of its type."""


def check_name(name: str, what: str) -> None:
    """Raise `InputError` for a name too long to store."""
    if len(name) > LONGEST_NAME:
        raise InputError(f"{what} has {len(name)} characters ({shortened(name, 80)}): must be at most {LONGEST_NAME}")


@contextmanager
def refusals(what: str = "", remedy: str = "", code: Code = Code.INVALID_REQUEST) -> Iterator[None]:
    """Turn what the library refuses in a caller's data into `InputError`; for the places where such data enter it.

    The library refuses by raising `ValueError`. numpy and the interpreter raise it too, for mistakes of ours (arrays
    that do not fit, a singular matrix); these pass unchanged.

    Parameters
    ----------
    what, remedy
        Put before and behind the library's words, with colons.
    code
        Of the error.
    """
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise InputError(": ".join(filter(None, (what, str(error), remedy))), code) from error


def shortened(words: object, most: int = _MOST_WORDS) -> str:
    """Return words on one line, whatever a caller put into them, the middle of long ones left out."""
    words = str(words)
    if len(words) > most:
        begin, end = words[: 2 * most // 3], words[-most // 3 :]
        words = f"{begin} ...[{len(words) - len(begin) - len(end)} characters]... {end}"
    return words if words.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def listing(names: object, limit: int = 12) -> str:
    """Return names as a readable list for an error message, cut after `limit`."""
    names = sorted(map(str, names))
    shown = ", ".join(shortened(name, _MOST_NAME) for name in names[:limit])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > limit else shown or "none"


def reason_of(error: BaseException) -> str:
    """Return words for an answer or a log.

    `InputError` alone is the caller's mistake. Anything else is one of the node: it is named as such, its traceback is
    printed when it comes for the first time, and the node lives on.
    """
    if isinstance(error, InputError):
        return shortened(error)
    trace(error)
    return f"{INTERNAL}: {shortened(repr(error), 300)}: a bug of the node, not of the request; see its output"


def trace(error: BaseException) -> None:
    """Print the traceback of an error; only the first one of each place."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = (type(error), last[0].filename, last[0].lineno) if last else (type(error), "", 0)
    if place in _traced or len(_traced) >= _TRACEBACKS:
        return
    _traced.add(place)
    text = "".join(traceback.TracebackException.from_exception(error, limit=50).format())
    if len(text) > _MOST_TRACEBACK:
        text = f"{text[: _MOST_TRACEBACK // 2]}\n...\n{text[-_MOST_TRACEBACK // 2 :]}"
    print(text, file=sys.stderr, flush=True)
