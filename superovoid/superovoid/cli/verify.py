# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid verify`: check answers by proof, with a program that shares no code with the engine."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from superovoid.cli import option_values
from superovoid.output import REPORT


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "verify",
        help="check answers by proof, in ball arithmetic",
        description="Check answers of `distance` in ball arithmetic (python-flint), by formulas that share no code "
        "with the engine: accepted, refuted or undecided. FILE is JSON: a record of superovoid.checker.record, a "
        "list of them, or {'pairs': [...]}. The exit code is 1 unless all answers are accepted.",
        example="superovoid verify answers.json --details",
    )
    command.add_argument("file", type=option_values.file, metavar="FILE", help="answers to check")
    option_values.add_reporting(command)
    command.set_defaults(run=run, extra="verify")


def run(arguments: argparse.Namespace) -> int:
    """Check the answers of a file; print the verdict, then all answers except accepted ones."""
    import flint  # noqa: F401

    from superovoid.checker import ACCEPTED, verify_record
    from superovoid.checker.claims import TOLERANCE

    path, verdicts, pairs = arguments.file, Counter[str](), []
    for number, pair in enumerate(records_of(path)):
        try:
            found = verify_record(pair)
        except ValueError as error:
            raise ValueError(f"{path}: pair {number}: {error}") from None
        verdicts[found.verdict] += 1
        lines = list(found.lines())
        rtol = pair.get("rtol", TOLERANCE)
        is_wide = rtol > TOLERANCE  # a reader must see what was accepted
        if is_wide:
            lines.append(f"  rtol: {rtol:.3g} of the smaller body, as given in the file, for points and normal")
        pairs.append({"pair": number, "verdict": found.verdict, "wide": is_wide, "lines": lines})
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    REPORT.verdict(f"{path}: {counts}", counts=verdicts, pairs=pairs)
    for each in pairs:
        is_detail = each["verdict"] == ACCEPTED and not each["wide"]
        report = REPORT.detail if is_detail else REPORT.line
        report(f"pair {each['pair']}: " + "\n".join(each["lines"]))
    return 0 if set(verdicts) == {ACCEPTED} else 1


def records_of(path: Path) -> list[Any]:
    """Read the records of a file; raise `ValueError` if it has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON: {error}") from None
    if isinstance(found, dict):
        found = found.get("pairs", [found])
    if not isinstance(found, list) or not found:
        raise ValueError(f"{path}: must be a record, a list of them, or {{'pairs': [...]}}")
    return found
