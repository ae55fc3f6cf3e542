# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid verify`: check answers by proof, with a program that shares no code with the engine."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from superovoid.cli import option_values


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "verify",
        help="check answers by proof, in ball arithmetic",
        description="Check answers of `distance` in ball arithmetic (python-flint), by formulas that share no code "
        "with the engine: accepted, refuted or undecided. FILE is JSON: a record of superovoid.checker.record, a "
        "list of them, or {'pairs': [...]}. Exit code 0 if all are accepted, else 1.",
    )
    command.add_argument("file", type=option_values.file, metavar="FILE", help="answers to check")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the answers of a file."""
    try:
        import flint  # noqa: F401
    except ModuleNotFoundError as error:
        print(f"superovoid verify: no module {error.name!r}: pip install 'superovoid[verify]'", file=sys.stderr)
        return 1
    return check_file(arguments.file)


def records_of(path: Path) -> list[Any]:
    """Read the records of a file; raise `ValueError` if it has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    if isinstance(found, dict):
        found = found.get("pairs", [found])
    if not isinstance(found, list) or not found:
        raise ValueError("must be a record, a list of them, or {'pairs': [...]}")
    return found


def check_file(path: Path) -> int:
    """Check the answers of a file and print the verdicts."""
    from superovoid.checker import ACCEPTED, verify_record
    from superovoid.checker.claims import TOLERANCE

    try:
        records = records_of(path)
    except ValueError as error:
        print(f"superovoid verify: {path}: {error}", file=sys.stderr)
        return 1
    verdicts: Counter[str] = Counter()
    for number, pair in enumerate(records):
        try:
            found = verify_record(pair)
        except ValueError as error:
            print(f"superovoid verify: {path}: pair {number}: {error}", file=sys.stderr)
            return 1
        verdicts[found.verdict] += 1
        print("\n".join([f"pair {number}: " + next(iter(found.lines())), *list(found.lines())[1:]]))
        rtol = pair.get("rtol", TOLERANCE)
        if rtol > TOLERANCE:
            print(f"  rtol: {rtol:.3g} of the smaller body, as given in the file, for points and normal")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return 0 if set(verdicts) == {ACCEPTED} else 1
