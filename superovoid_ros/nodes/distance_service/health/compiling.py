# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiles what the node needs in a thread of its own, level by level (`states.ahead`), and says how far.

What needs kernels that are not compiled yet is answered "not ready: compiling ...", and everything else as always: the
compiler gives up the interpreter's lock every few milliseconds. Where kernels are only loaded, which takes a fraction
of a second, they are waited for.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from rclpy.clock import Clock, ClockType

from superovoid.compiled.jit import Stopped, watched
from superovoid.scene import Scene
from superovoid.states import ahead
from superovoid_ros.nodes.common.mistakes import InputError, reason_of
from superovoid_ros.nodes.distance_service.part import Common, Part

ENGINE = 0
"""The level that reading a robot needs."""
USUAL = 2
"""The level of the objects that most scenes have: boxes, cylinders, convex meshes."""

_LONGEST_LOAD = 5.0  # s that kernels are waited for while none is compiled
_LOOK = 0.1  # s


class Kernels(Part):
    """Knows which levels are compiled."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._ready: set[int] = set()
        self._failed: dict[int, str] = {}
        self._wanted: list[int] = []  # what the thread has still to do, what is under way first
        self._needed: set[int] = set()
        self._begun, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._started = 0.0
        self._then: list[tuple[int, Callable[[], None]]] = []
        self._timer = None

    # --- for the other parts ---

    def need(self, level: int) -> None:
        """Compile a level before any other, and `require` it from now on; return at once, or when it is loaded."""
        self._needed.add(level)
        self._load(level)

    def _load(self, level: int) -> None:
        self._want(level, first=True)
        until = time.monotonic() + _LONGEST_LOAD
        while not self.is_done(level) and not self._begun.is_set() and time.monotonic() < until:
            time.sleep(0.002)

    def need_for(self, scene: Scene) -> None:
        """`need` what the bodies of a scene need."""
        self.need(ahead.level_of(scene))

    def require_for(self, scene: Scene) -> None:
        """Raise `InputError` where what the bodies of a scene need is not ready; it is compiled before any other."""
        level = ahead.level_of(scene)
        self._load(level)
        self.require(level)

    def prepare_usual(self) -> None:
        """Compile what objects usually need when nothing else is to be compiled; nobody waits for it."""
        self._want(USUAL, first=False)

    def forget(self) -> None:
        """Need nothing but the engine from now on: there is another robot, or none."""
        self._needed &= {ENGINE}

    def require(self, level: int | None = None) -> None:
        """Raise `InputError` saying how far the compiler is, where what is needed, or a level, is not ready."""
        words = self._missing(self._needed if level is None else {level})
        if words:
            raise InputError(words)

    def is_done(self, level: int) -> bool:
        """Whether a level is compiled, or cannot be."""
        return level in self._ready or level in self._failed

    @property
    def missing(self) -> str:
        """Why nothing can be answered; empty where everything needed is ready."""
        return self._missing(self._needed)

    def _missing(self, levels: Iterable[int]) -> str:
        for level in sorted(levels):
            if level in self._failed:
                return f"not ready: kernels for {ahead.LEVELS[level]} could not be compiled: {self._failed[level]}"
            if level not in self._ready:
                done, total = ahead.progress(level)
                return (
                    f"not ready: compiling kernels for {ahead.LEVELS[level]}, once on this machine: {done} of "
                    f"about {total}, {time.monotonic() - self._started:.0f} s so far; ask again later"
                )
        return ""

    def when_ready(self, level: int, act: Callable[[], None]) -> None:
        """Do something in the executor's thread once a level is ready; at once where it is."""
        if level in self._ready:
            act()
            return
        self._then.append((level, act))
        if self._timer is None:
            # By the wall clock, also where /clock stands still.
            self._timer = self.node.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # --- Part ---

    def clean_up(self) -> None:
        """Stop compiling before the next kernel."""
        self._then.clear()
        self._drop_timer()
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join()
        self._stop.clear()
        self._wanted.clear()
        self._needed &= {ENGINE}

    def facts(self) -> Mapping[str, object]:
        """Return which kernels are there, for diagnostics."""
        compiling = ", ".join(ahead.LEVELS[level] for level in self._wanted)
        ready = ", ".join(ahead.LEVELS[level] for level in sorted(self._ready))
        return {"kernels": ready or "none", **({"compiling": compiling} if compiling else {})}

    # --- the thread ---

    def _want(self, level: int, *, first: bool) -> None:
        with self._lock:
            if self.is_done(level):
                return
            if level not in self._wanted:
                self._wanted.insert(1 if first and self._wanted else len(self._wanted), level)
            elif first and level in self._wanted[2:]:
                self._wanted.remove(level)
                self._wanted.insert(1, level)
            if self._thread is None or not self._thread.is_alive():
                self._begun.clear()
                self._started = time.monotonic()
                self._thread = threading.Thread(target=self._compile, name="compiler")
                self._thread.start()

    def _compile(self) -> None:
        while True:
            with self._lock:
                if not self._wanted or self._stop.is_set():
                    self._wanted.clear()
                    self._thread = None
                    return
                level = self._wanted[0]
            try:
                with watched(self._begun, self._stop):
                    seconds = ahead.compile_level(level)
            except Stopped:
                continue
            except Exception as error:  # a mistake of this package; the node goes on, and says so
                self._failed[level] = reason_of(error)
                self.node.get_logger().error(f"kernels for {ahead.LEVELS[level]}: {self._failed[level]}")
            else:
                _leave_to_stay(self._begun.is_set())
                self._ready.add(level)
                words = f"kernels for {ahead.LEVELS[level]} ready after {seconds:.1f} s"
                if self._begun.is_set():
                    self.node.get_logger().info(words)
                else:
                    self.node.get_logger().debug(words)  # rclpy wants one severity at one place
            with self._lock:
                self._wanted.remove(level)
                self._begun.clear()

    def _look(self) -> None:
        """Do what waits for levels that are ready by now."""
        due = [(level, act) for level, act in self._then if self.is_done(level)]
        self._then = [each for each in self._then if each not in due]
        if not self._then:
            self._drop_timer()
        for _, act in due:
            act()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self.node.destroy_timer(self._timer)
            self._timer = None


def _leave_to_stay(has_compiled: bool) -> None:
    """Let Python's search for garbage pass over all objects of now, which are modules and kernels for the most part.

    There are hundreds of thousands. Python goes through all of them whenever those that came since are a quarter as
    many, with every thread at a standstill for a tenth of a second or more. What a model or a message consists of has
    no cycles and goes as before, when it is no longer referred to.
    """
    if has_compiled:  # compiling leaves much that is garbage
        gc.collect()
    gc.freeze()
