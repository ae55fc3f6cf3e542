# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dev bench`: speed of the engine, and attacks on it."""

from __future__ import annotations

import argparse
from pathlib import Path

from superovoid.cli import option_values
from superovoid_papers.commands.measurement import add_measurement

FOR_DEVELOPERS = True


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "bench",
        help="measure the engine and a scene of two hands",
        description="Time compiled loops over random pairs and queries of the two hands; medians and p99.",
        example="superovoid dev bench scale --frames 20",
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run)
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
        "a control loop with distances of two hands: p50, p99, p99.9 and worst time of an iteration",
        seconds=60,
        rate=1000,
        output=Path("superovoid_bench"),
    )
    add_measurement(
        subjects,
        "states",
        "benchmarks.many_states",
        "many states of two hands in one call, from hands far apart to overlapping hands",
        states=1000,
        repeats=3,
        seed=1,
    )
    command = subjects.add_parser(
        "never-wrong",
        help="check answers to random pairs of bodies of every kind by proof",
        description="Draw pairs of superovoids over the whole parameter range, and of any kinds of bodies, and check "
        "the answers in ball arithmetic (python-flint), by formulas that share no code with the engine. The exit code "
        "is 1 if an answer is refuted, a promise is broken or a wrong answer is accepted.",
        example="superovoid dev bench never-wrong --pairs 1000 --seed 11 --planted",
    )
    for name, kind, default, text in (
        ("pairs", option_values.count(), 10_000, "random pairs"),
        ("seed", option_values.seed, 1, "seed of the random pairs"),
    ):
        command.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text} (default: {default})")
    command.add_argument(
        "--family", type=_family, action="append", metavar="NAME", help="only this family; may be repeated"
    )
    command.add_argument("--planted", action="store_true", help="check a wrong answer with each certified one")
    command.add_argument(
        "--in-lanes", action="store_true", help="check the answers of batches, in SIMD lanes, instead of single pairs"
    )
    command.add_argument(
        "--workers",
        type=option_values.count(most=1024),
        metavar="N",
        help="number of processes of dask.distributed; the results do not depend on it",
    )
    option_values.add_output(command, ".", "folder for refuted answers")
    option_values.add_reporting(command)
    command.set_defaults(run=never_wrong, extra="verify")
    add_measurement(
        subjects,
        "engine",
        "benchmarks.engine_comparison",
        "this engine compared with Coal, FCL, MuJoCo and distance3d on the same pairs",
        pairs=100,
        rounds=5,
        seed=0,
        output=Path("superovoid_bench"),
    )

    add_measurement(
        subjects,
        "kinds",
        "benchmarks.kinds_comparison",
        "every pair of kinds of bodies, compared with Coal",
        pairs=1000,
        seed=0,
        output=Path("superovoid_bench"),
    )
    add_measurement(
        subjects,
        "robots",
        "benchmarks.robots",
        "ordinary robots, compared with pinocchio with Coal: all distances, overlaps, any overlap",
        states=1000,
        repeats=5,
        seed=0,
        output=Path("superovoid_bench"),
    )


def run(_: argparse.Namespace) -> int:
    """Measure the engine and the scene on this machine."""
    from superovoid_papers.benchmarks import engine_speed

    return engine_speed.main(pairs=4000, repeats=7, seed=0)


def never_wrong(arguments: argparse.Namespace) -> int:
    """Check the engine's answers to random pairs of every kind."""
    import flint  # noqa: F401

    from superovoid_papers.judges import never_wrong as judge

    return judge.main(
        arguments.pairs,
        arguments.seed,
        families=arguments.family or (),
        planted=arguments.planted,
        in_lanes=arguments.in_lanes,
        output=Path(arguments.output),
        workers=arguments.workers,
    )


def _family(text: str) -> str:
    from superovoid.testing.random_pairs import NAMES

    if text not in NAMES:
        raise argparse.ArgumentTypeError(f"{option_values.quote(text)}: must be one of {', '.join(NAMES)}")
    return text
