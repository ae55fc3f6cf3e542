# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inputs that nobody meant: mutated, truncated, absurd ones, given to everything that reads something from outside.

Every kind of input is one function that returns a `Target`: what the inputs are drawn from (a hypothesis strategy of
`bytes`), what takes one, and which errors say "this input is wrong". Such a function needs a place in `KINDS`:

    def greetings() -> Target:
        return Target(mutated([b"hello", b"good morning"]), take=lambda data: greet(data), refusals=(GreetingError,))

    KINDS = {..., "greetings": "superovoid_papers.judges.fuzz.greetings:greetings"}

It is imported only where the kind is run, so that kinds of ROS messages need ROS and no other does. Inputs are bytes,
so that the one at fault can be kept in a file and given again: a message is drawn as its serialised form or a seed.

Where taking an input needs something around it (a folder, a node in a process of its own with a witness that asks it
after each input), `Target.around` is a context manager that is entered once, before the limits hold; what it yields is
the second argument of `take`. A witness raises any error that is no refusal.

A kind fails where an input

* raises anything but a refusal; an error counts as one only if our own code raised it by a `raise` of its own, so that
  a ValueError out of numpy or of a library is a bug and not the input's fault;
* takes more than `Limits.seconds` of processor time, or keeps the process silent for `Limits.patience`;
* takes more than `Limits.memory` beyond what the process has at the beginning (an rlimit);
* ends the process.

The inputs are run in a child process (`child`), which writes each down before it is taken; `running` starts the child,
watches it, and says which input it was. What hypothesis finds, it makes small.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from hypothesis.strategies import SearchStrategy

_HERE, _NODES = "superovoid_papers.judges.fuzz", "superovoid_ros.tools.fuzzed"
FILES = {
    **{kind: f"{_HERE}.descriptions:{kind}" for kind in ("urdf", "srdf")},
    **{kind: f"{_HERE}.geometry:{kind}" for kind in ("stl", "obj", "ply", "off", "dae", "glb", "octree")},
}
"""Kinds of what is read from files and texts."""
MESSAGES = {kind: f"{_NODES}:{kind}" for kind in ("message_bytes", "messages", "requests", "parameters", "anything")}
"""Kinds of what a running node is sent."""
KINDS = {**FILES, **MESSAGES}
"""Kind of input -> module and function that returns its `Target`."""


@dataclass(frozen=True)
class Limits:
    """What one input may cost."""

    seconds: float = 20.0
    """Of processor time."""
    memory: int = 2_000_000_000
    """Bytes beyond what the process had when the kind began."""
    patience: float = 300.0
    """Seconds in which the process must begin another input; it is killed then."""


@dataclass(frozen=True)
class Target:
    """What takes one kind of input."""

    inputs: SearchStrategy[bytes]
    take: Callable[..., object]
    """take(data), or take(data, surroundings) where there is something around."""
    refusals: tuple[type[Exception], ...]
    """Documented errors."""
    around: Callable[[], AbstractContextManager] | None = None
    sample: bytes | None = None
    """An input to begin with, which must be taken: kernels are compiled or read by it before the limits hold."""
    limits: Limits = Limits()
    is_alone: bool = True
    """Whether an input fails by itself. Where surroundings remember what came before, no smaller one is looked for."""

    def surroundings(self) -> AbstractContextManager:
        """What is entered before the first input."""
        return nullcontext() if self.around is None else self.around()

    def give(self, data: bytes, surroundings: object) -> None:
        """Let an input be taken."""
        if self.around is None:
            self.take(data)
        else:
            self.take(data, surroundings)


def target_of(kind: str) -> Target:
    """The target of a kind, by its name in `KINDS` or by ``module:function``.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    path = KINDS.get(kind, kind)
    module, _, function = path.partition(":")
    if not function:
        raise ValueError(f"kind = {kind[:100]!r}: must be one of {', '.join(KINDS)}")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        if kind in KINDS:  # what it needs is not installed
            raise
        raise ValueError(
            f"kind = {kind[:100]!r}: must be one of {', '.join(KINDS)}, or module:function: {str(error)[:200]}"
        ) from error
    return make()
