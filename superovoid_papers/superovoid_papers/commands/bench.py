# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid bench`: speed of the engine, and attacks on it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from superovoid.cli import option_values
from superovoid_papers.commands.measurement import add_measurement

_BENCH = {"pairs": 4000, "repeats": 7, "seed": 0}


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "bench",
        help="speed of the engine and of a scene of two hands",
        description="Time compiled loops over random pairs and queries of the two hands; medians and p99.",
    )
    for name, kind, text in (
        ("pairs", option_values.count(most=10**7), "pairs of each battery"),
        ("repeats", option_values.count(most=10**6), "runs of each loop"),
        ("seed", option_values.seed, "of the random pairs"),
    ):
        text += f" (default: {_BENCH[name]})"
        command.add_argument(f"--{name}", dest=f"bench_{name}", type=kind, metavar="N", help=text)
    command.set_defaults(run=run, check=check)
    subjects = command.add_subparsers(dest="subject", metavar="SUBJECT")
    add_measurement(
        subjects,
        "scale",
        "benchmarks.scale",
        "time of a frame of scenes of 10 to 10,000 bodies",
        frames=100,
        seed=0,
        output=Path("superovoid_bench"),
    )
    add_measurement(
        subjects,
        "loop",
        "benchmarks.control_loop",
        "a control loop of distances of two hands: p50, p99, p99.9 and worst of its turns",
        seconds=60,
        rate=1000,
        output=Path("superovoid_bench"),
    )
    add_measurement(
        subjects,
        "states",
        "benchmarks.many_states",
        "many states of two hands in one call, from hands far apart to hands in each other",
        states=1000,
        repeats=3,
        seed=1,
    )
    command = subjects.add_parser(
        "never-wrong",
        help="attack the engine with random pairs of every kind",
        description="Draw convex and dented pairs over the whole parameter range, solve them, and check every answer "
        "by tests that share no code with the engine; print tables, write CSV and failing pairs; exit code 1 on any.",
    )
    for name, kind, default, text in (
        ("pairs", option_values.count(), 100_000, "random pairs"),
        ("seed", option_values.seed, 1, "of the random pairs"),
        ("mpmath", option_values.count(0), 0, "pairs compared with 40 digits"),
        ("flat", option_values.count(0), 0, "pairs of flats of all kinds of bodies"),
        ("threads", option_values.count(most=1024), 1, "chunks at a time"),
    ):
        command.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text} (default: {default})")
    command.add_argument(
        "--workers",
        type=option_values.count(most=1024),
        metavar="N",
        help="processes of dask.distributed instead of threads; the answer is the same",
    )
    command.add_argument(
        "--family", type=_family, action="append", metavar="NAME", help="only this family; may be repeated"
    )
    command.add_argument(
        "--in-lanes", action="store_true", help="answers of batches, in SIMD lanes, in place of pairs one by one"
    )
    option_values.add_output(command, ".", "folder for the files")
    command.set_defaults(run=never_wrong)
    command = subjects.add_parser(
        "fuzz",
        help="mutated, truncated and absurd inputs for everything that is read",
        description="Give descriptions, meshes, octrees and whatever else comes from outside in wrong forms to what "
        "reads it, in a process with bounds of time and memory; print what was given, and keep an input that did what "
        "none may do; exit code 1 where there is one.",
    )
    command.add_argument("--kind", action="append", metavar="NAME", help="only this kind; may be repeated")
    command.add_argument(
        "--inputs", type=option_values.count(), default=1000, metavar="N", help="of each kind (default: 1000)"
    )
    command.add_argument("--seed", type=option_values.seed, default=1, metavar="N", help="of the inputs (default: 1)")
    option_values.add_output(command, "superovoid_fuzz", "folder for failing inputs")
    command.add_argument(
        "--replay", type=option_values.file, metavar="FILE", help="give this input again, of the one --kind"
    )
    command.set_defaults(run=fuzz, check=check_fuzz)
    add_measurement(
        subjects,
        "engine",
        "benchmarks.engine_comparison",
        "this engine beside Coal, FCL, MuJoCo and distance3d on the same pairs",
        pairs=100,
        rounds=5,
        seed=0,
        output=Path("superovoid_bench"),
    )

    add_measurement(
        subjects,
        "kinds",
        "benchmarks.kinds_comparison",
        "every pair of kinds of bodies beside Coal",
        pairs=1000,
        seed=0,
        output=Path("superovoid_bench"),
    )
    add_measurement(
        subjects,
        "robots",
        "benchmarks.robots",
        "ordinary robots beside pinocchio with Coal: all distances, overlaps, any overlap",
        states=1000,
        repeats=5,
        seed=0,
        output=Path("superovoid_bench"),
    )


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `bench` taken together; empty: nothing."""
    for name in _BENCH:
        if arguments.subject and getattr(arguments, f"bench_{name}") is not None:
            return f"argument --{name}: is about `superovoid bench`; options of {arguments.subject} come after its name"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Measure the engine and the scene on this machine."""
    from superovoid_papers.benchmarks import engine_speed

    given = {name: getattr(arguments, f"bench_{name}") for name in _BENCH}
    return engine_speed.main(**_BENCH | {name: value for name, value in given.items() if value is not None})


def never_wrong(arguments: argparse.Namespace) -> int:
    """Attack the engine with random pairs of every kind."""
    from superovoid.dataset.dataset_errors import DatasetError

    try:
        from superovoid_papers.judges import never_wrong as attack
    except ModuleNotFoundError as error:
        print(
            f"superovoid bench never-wrong: no module {error.name!r}: pip install 'superovoid_papers[bench]'",
            file=sys.stderr,
        )
        return 1
    try:
        return attack.main(
            arguments.pairs,
            arguments.seed,
            mpmath_pairs=arguments.mpmath,
            threads=arguments.threads,
            workers=arguments.workers,
            flat_pairs=arguments.flat,
            families=arguments.family or (),
            in_lanes=arguments.in_lanes,
            output=arguments.output,
        )
    except DatasetError as error:  # of workers
        print(f"superovoid bench never-wrong: {error}", file=sys.stderr)
        return 1


def _family(text: str) -> str:
    from superovoid.testing.random_pairs import FAMILIES

    if text not in FAMILIES:
        raise argparse.ArgumentTypeError(f"{option_values.quoted(text)}: must be one of {', '.join(FAMILIES)}")
    return text


def check_fuzz(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `bench fuzz` taken together; empty: nothing."""
    if arguments.replay is not None and len(arguments.kind or ()) != 1:
        return "argument --replay: give the kind of the input, one --kind"
    try:
        from superovoid_papers.judges.fuzz import target_of

        for kind in arguments.kind or ():
            target_of(kind)
    except ModuleNotFoundError:
        return ""  # `fuzz` says what is missing
    except ValueError as error:
        return f"argument --kind: {error}"
    return ""


def fuzz(arguments: argparse.Namespace) -> int:
    """Give inputs that nobody meant to everything that reads something."""
    try:
        from superovoid_papers.judges.fuzz import running
    except ModuleNotFoundError as error:
        print(f"superovoid bench fuzz: no module {error.name!r}: pip install '.[test]'", file=sys.stderr)
        return 1
    try:
        return running.main(arguments.kind, arguments.inputs, arguments.seed, arguments.output, arguments.replay)
    except ValueError as error:
        print(f"superovoid bench fuzz: {error}", file=sys.stderr)
        return 1
