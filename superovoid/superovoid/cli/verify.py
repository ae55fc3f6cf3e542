# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid verify`: answers checked by proof, by a program that shares no code with the engine."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from superovoid.cli import option_values

_SEED = 1


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "verify",
        help="check answers by proof, in ball arithmetic",
        description="Check answers of `distance` in ball arithmetic (python-flint), by formulas that share no code "
        "with the engine: accepted, refuted or undecided. FILE is JSON: a record of superovoid.checker.record, a "
        "list of them, or {'pairs': [...]}. Exit code 0 where all are accepted, else 1; of random pairs, where none is "
        "refuted and no wrong one is accepted.",
    )
    command.add_argument("file", type=option_values.file, nargs="?", metavar="FILE", help="answers to check")
    command.add_argument(
        "--random", type=option_values.count(), metavar="N", help="check answers to so many random pairs instead"
    )
    command.add_argument("--seed", type=option_values.seed, metavar="N", help=f"of the random pairs (default: {_SEED})")
    command.add_argument(
        "--family", type=_family, action="append", metavar="NAME", help="only this family; may be repeated"
    )
    command.add_argument("--planted", action="store_true", help="check a wrong answer with each certified one")
    command.add_argument(
        "--workers",
        type=option_values.count(1, 1024),
        metavar="N",
        help="check random pairs in so many processes of dask.distributed; what is found does not depend on it",
    )
    option_values.add_output(command, ".", "folder for what is refuted")
    command.set_defaults(run=run, check=check)


def _family(text: str) -> str:
    from superovoid_papers.judges.random_checks import NAMES

    if text not in NAMES:
        raise argparse.ArgumentTypeError(f"{option_values.quoted(text)}: must be one of {', '.join(NAMES)}")
    return text


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `verify` taken together; empty: nothing."""
    if (arguments.file is None) == (arguments.random is None):
        return "give a FILE of answers, or --random N"
    for option, given in (
        ("--seed", arguments.seed is not None),
        ("--family", arguments.family),
        ("--planted", arguments.planted),
        ("--workers", arguments.workers),
    ):
        if given and arguments.random is None:
            return f"argument {option}: is about random pairs, and --random asks for none"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Check answers of a file, or to random pairs."""
    try:
        import flint  # noqa: F401
    except ModuleNotFoundError as error:
        print(f"superovoid verify: no module {error.name!r}: pip install 'superovoid[verify]'", file=sys.stderr)
        return 1
    if arguments.file is not None:
        return check_file(arguments.file)
    try:
        from superovoid.dataset.dataset_errors import DatasetError
        from superovoid_papers.judges import random_checks
    except ModuleNotFoundError as error:
        print(
            f"superovoid verify --random: no module {error.name!r}: pip install 'superovoid_papers[bench]'",
            file=sys.stderr,
        )
        return 1
    seed = _SEED if arguments.seed is None else arguments.seed
    families, output = arguments.family or (), Path(arguments.output)
    try:
        return random_checks.main(arguments.random, seed, families, arguments.planted, output, arguments.workers)
    except DatasetError as error:
        print(f"superovoid verify --workers: {error}", file=sys.stderr)
        return 1


def records_of(path: Path) -> list[Any]:
    """Read the records of a file; `ValueError` where it has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is no JSON: {error}") from None
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
        tolerance = pair.get("tolerance", TOLERANCE)
        if tolerance > TOLERANCE:
            print(f"  tolerance: {tolerance:.3g} of the smaller body, as the file says, for points and normal")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return 0 if set(verdicts) == {ACCEPTED} else 1
