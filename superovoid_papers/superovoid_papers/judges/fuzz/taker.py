# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The process that takes the inputs. Its only argument is what `running` asks of it, as JSON.

For each kind a line of JSON is printed: a `running.Report`. The input that is being taken is in the file `journal`.
"""

from __future__ import annotations

import json
import mmap
import resource
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from superovoid.robot.errors import is_refusal
from superovoid_papers.judges.fuzz import Limits, Target, target_of

# Runs of hypothesis share nothing: what it remembers of its examples does not grow with their number.
_RUN = 250


class _TooLong(BaseException):
    """The processor time of an input is over. No `except Exception` takes it."""


class Finding(Exception):
    """An input did what none may do."""


def was_refused(error: BaseException, refusals: tuple[type[Exception], ...]) -> bool:
    """Whether an error is a documented one that a `raise` in our own code made."""
    return isinstance(error, refusals) and is_refusal(error)


def _kilobytes(name: str) -> int:
    """An entry of /proc/self/status."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


@contextmanager
def _bounded_memory(limits: Limits):
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1024 * _kilobytes("VmSize") + limits.memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class _Journal:
    """The input that is being taken, in a file that outlives the process."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._path.write_bytes(bytes(16))
        with self._path.open("r+b") as file:
            self._count = mmap.mmap(file.fileno(), 16)
        self._input = self._path.with_suffix(".input").open("wb", buffering=0)
        self.begun = 0

    def write(self, data: bytes) -> None:
        self._input.seek(0)
        self._input.truncate()
        self._input.write(data)
        self.begun += 1
        self._count[:8] = self.begun.to_bytes(8, "little")


class _Attack:
    """Inputs of one kind, and what became of them."""

    def __init__(self, target: Target, surroundings: object, journal: _Journal) -> None:
        self._target, self._surroundings, self._journal = target, surroundings, journal
        self.inputs = self.taken = self.refused = 0
        self.slowest = 0.0
        self.last = b""
        self.failing: bytes | None = None
        self.problem = ""

    def give(self, data: bytes) -> None:
        """Let an input be taken; `Finding` where it does what none may do."""
        self._journal.write(data)
        self.inputs += 1
        self.last = data
        started = time.process_time()
        problem = self._problem(data)
        spent = time.process_time() - started
        self.slowest = max(self.slowest, spent)
        if not problem and spent > self._target.limits.seconds:
            problem = f"took {spent:.1f} s of processor time, at most {self._target.limits.seconds:g} s are allowed"
        if problem:
            self.failing, self.problem = data, problem
            # One line, so that hypothesis takes the same fault for the same one.
            raise Finding(problem.splitlines()[-1][:200])

    def _problem(self, data: bytes) -> str:
        """What is wrong with how an input was taken; empty: nothing."""
        limits = self._target.limits
        try:
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            try:
                self._target.give(data, self._surroundings)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
        except _TooLong:
            return f"took more than {limits.seconds:g} s of processor time"
        except MemoryError:
            return f"took more than {limits.memory / 1e6:.0f} MB of memory"
        except Exception as error:
            if was_refused(error, self._target.refusals):
                self.refused += 1
                return ""
            return "".join(traceback.format_exception(error))
        self.taken += 1
        return ""


def _on_alarm(_signal: int, _frame: object) -> None:
    raise _TooLong


def attack(kind: str, count: int, start: int, journal: _Journal) -> dict[str, object]:
    """Give so many inputs of a kind, or fewer where one fails; return a report."""
    target = target_of(kind)
    found, before = None, 0
    try:
        with target.surroundings() as surroundings:
            if target.sample is not None:
                journal.write(target.sample)
                target.give(target.sample, surroundings)
            found = _Attack(target, surroundings, journal)
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins again
            before = _kilobytes("VmRSS")
            with _bounded_memory(target.limits):
                run = 0
                while found.inputs < count and found.failing is None:
                    _run(found, target, min(_RUN, count - found.inputs), start + run)
                    run += 1
    except Exception as error:
        if found is None:
            raise
        # What is around had more to say at its end; of two problems the first is told.
        found.failing = found.last if found.failing is None else found.failing
        found.problem = found.problem or "".join(traceback.format_exception(error))
    peak = _kilobytes("VmHWM") - before
    return {
        "kind": kind,
        "seed": start,
        "inputs": found.inputs,
        "taken": found.taken,
        "refused": found.refused,
        "slowest": found.slowest,
        "megabytes": max(0.0, peak / 1e3),
        "problem": found.problem,
        "failing": None if found.failing is None else found.failing.hex(),
    }


def _run(found: _Attack, target: Target, count: int, start: int) -> None:
    @seed(start)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if target.is_alone else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(target.inputs)
    def one(data: bytes) -> None:
        found.give(data)

    before = found.inputs
    try:
        one()
    except Exception:
        if found.failing is None:
            raise  # of hypothesis itself
    if found.inputs == before:
        raise RuntimeError("the strategy gives no inputs")


def main() -> None:
    """Do what the argument says."""
    asked = json.loads(sys.argv[1])
    signal.signal(signal.SIGPROF, _on_alarm)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    journal = _Journal(asked["journal"])
    if "replay" in asked:
        target = target_of(asked["kinds"][0])
        data = Path(asked["replay"]).read_bytes()
        with target.surroundings() as surroundings, _bounded_memory(target.limits):
            found = _Attack(target, surroundings, journal)
            try:
                found.give(data)
            except Finding:
                print(json.dumps({"problem": found.problem}), flush=True)
            else:
                print(json.dumps({"problem": "", "refused": bool(found.refused)}), flush=True)
        return
    for kind in asked["kinds"]:
        print(json.dumps(attack(kind, asked["inputs"], asked["seed"], journal)), flush=True)


if __name__ == "__main__":
    main()
