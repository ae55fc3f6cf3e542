# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Start the process that takes the inputs, watch it, and report: `superovoid bench fuzz`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from superovoid.output import machine, output_folder, print_table
from superovoid_papers.judges.fuzz import FILES, KINDS, MESSAGES, Limits, target_of

_LOOK = 0.05  # s
_START = 600.0  # s


@dataclass(frozen=True)
class Report:
    """What became of the inputs of one kind."""

    kind: str
    seed: int
    inputs: int
    taken: int = 0
    """Inputs that made sense after all."""
    refused: int = 0
    """Inputs that were answered with a documented error."""
    slowest: float = 0.0
    """Most processor time of one input, s."""
    megabytes: float = 0.0
    """How much the process grew, at most."""
    problem: str = ""
    """What an input did that none may do; empty: nothing."""
    failing: bytes | None = None
    """That input, as small as it could be made."""


def run(
    kinds: Sequence[str], inputs: int, seed: int, report: Callable[[Report], None] = lambda report: None
) -> list[Report]:
    """Give so many inputs of each kind to what takes them.

    Parameters
    ----------
    kinds : sequence of str
        Names in `KINDS`, or ``module:function``.
    inputs : int
        Of each kind; a kind ends with the first that fails, and hypothesis tries smaller ones then.
    seed : int
    report : callable
        Called with each report as it comes.
    """
    limits = {kind: target_of(kind).limits for kind in kinds}
    left, reports = list(kinds), []
    while left:
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "journal"
            asked = {"kinds": left, "inputs": inputs, "seed": seed, "journal": str(journal)}
            for found in _child(asked, journal, limits):
                reports.append(Report(**found, seed=seed) if "seed" not in found else Report(**found))
                report(reports[-1])
                left = left[1:]
    return reports


def replay(kind: str, file: Path) -> Report:
    """Give one input again; the report has a problem where there still is one."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        asked = {"kinds": [kind], "replay": str(file), "journal": str(journal)}
        (found,) = _child(asked, journal, {kind: target_of(kind).limits})
        refused = bool(found.get("refused"))
        problem = found["problem"]
        return Report(kind, 0, 1, taken=not (problem or refused), refused=refused, problem=problem)


def _child(asked: dict[str, object], journal: Path, limits: dict[str, Limits]):
    """Run a child and yield what it reports; a kind that ends it is reported too, and is the last."""
    kinds = list(asked["kinds"])
    errors = journal.with_suffix(".errors")
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "superovoid_papers.judges.fuzz.taker", json.dumps(asked)],
            stdout=(journal.with_suffix(".reports")).open("wb"),
            stderr=file,
        )
    seen, last, since = 0, b"", time.monotonic()
    try:
        while True:
            ended = process.poll() is not None
            lines = journal.with_suffix(".reports").read_text(encoding="utf-8").split("\n")[:-1]
            for line in lines[seen:]:
                found = json.loads(line)
                if found.get("failing") is not None:
                    found["failing"] = bytes.fromhex(found["failing"])
                seen += 1
                since = time.monotonic()
                yield found
            if ended or seen == len(kinds):
                break
            count = journal.read_bytes()[:8] if journal.exists() else b""
            if count != last:
                last, since = count, time.monotonic()
            # Before its first input the process imports and compiles.
            elif time.monotonic() - since > (limits[kinds[seen]].patience if any(count) else _START):
                process.kill()
                process.wait()
            time.sleep(_LOOK)
    finally:
        if process.poll() is None and seen < len(kinds):
            process.kill()
        code = process.wait()
    if seen < len(kinds):
        words = errors.read_text(encoding="utf-8", errors="replace")[-4000:]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if code == -9:
            how += f" (silent for more than {limits[kinds[seen]].patience:g} s, or the system's memory was short)"
        data = journal.with_suffix(".input")
        found = {
            "kind": kinds[seen],
            "inputs": int.from_bytes(last, "little"),
            "problem": f"the process {how}\n{words}",
        }
        yield found | {"failing": data.read_bytes() if data.exists() else b""}


def table(reports: Sequence[Report]) -> Table:
    """Reports as a table."""
    made = Table(title="inputs that nobody meant")
    for column in ("kind", "seed", "inputs", "taken", "refused", "slowest [ms]", "memory [MB]", "result"):
        made.add_column(column, justify="left" if column in ("kind", "result") else "right")
    for one in reports:
        made.add_row(
            one.kind,
            str(one.seed),
            str(one.inputs),
            str(one.taken),
            str(one.refused),
            f"{1e3 * one.slowest:.0f}",
            f"{one.megabytes:.0f}",
            "FAILED" if one.problem else "ok",
        )
    return made


def _all_kinds(console: Console) -> tuple[str, ...]:
    """Kinds that can be run here; those of a node need ROS."""
    try:
        target_of(next(iter(MESSAGES)))
    except ModuleNotFoundError as error:
        console.print(f"left out for want of module {error.name!r}: {', '.join(MESSAGES)}", highlight=False)
        return tuple(FILES)
    return tuple(KINDS)


def main(kinds: Sequence[str] | None, inputs: int, seed: int, output: Path, again: Path | None = None) -> int:
    """Run and print; the exit code is 1 where an input did what none may do.

    Raises
    ------
    ValueError
        If a kind does not exist, or there is no file to be given again.
    OutputError
        If the folder cannot be made.
    """
    console = Console()
    if again is not None:
        if kinds is None or len(kinds) != 1:
            raise ValueError("--replay: give the kind of the input, one --kind")
        if not again.is_file():
            raise ValueError(f"--replay {again}: there is no such file")
        found = replay(kinds[0], again)
        console.print(found.problem or ("refused" if found.refused else "taken"), markup=False, highlight=False)
        return int(bool(found.problem))
    folder = output_folder(output)
    reports = run(
        tuple(kinds or _all_kinds(console)),
        inputs,
        seed,
        lambda one: console.print(f"{one.kind}: {one.inputs} inputs", highlight=False),
    )
    print_table(console, table(reports))
    console.print(
        f"seed {seed}, {sum(one.inputs for one in reports)} inputs; {machine(('hypothesis', 'lxml', 'trimesh'))}"
    )
    for one in reports:
        if one.problem:
            file = folder / f"{one.kind.replace(':', '.')}-{seed}.input"
            file.write_bytes(one.failing or b"")
            console.print(f"{one.kind}: {one.problem}", markup=False, highlight=False)
            console.print(
                f"again: superovoid bench fuzz --kind {one.kind} --replay {file}", soft_wrap=True, highlight=False
            )
    return int(any(one.problem for one in reports))
