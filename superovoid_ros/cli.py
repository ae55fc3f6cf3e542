"""The `superovoid` command."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def _frames(text: str) -> tuple[int, int]:
    try:
        first, _, last = text.partition(":")
        frames = int(first), int(last)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: must be FIRST:LAST, for example 20:60") from None
    if not 0 <= frames[0] <= frames[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: frames must be from 0 on, the first not after the last")
    return frames


def _needs_ros(command: str, error: ModuleNotFoundError) -> str:
    return (
        f"superovoid {command} needs ROS 2 and the interfaces of this package: no module {error.name!r}.\n"
        "Without ROS 2: pip install ./superovoid_interfaces '.[wheels]'\n"
        "With ROS 2: build both packages with colcon and source install/setup.bash"
    )


def demo(arguments: argparse.Namespace) -> int:
    """Walk a motion through the services and report."""
    # ROS 2 is needed by this command only. Its wheels may restart Python once to set the library path, so they come
    # before any output.
    try:
        from superovoid_ros.nodes.child import NodeError
        from superovoid_ros.nodes.sweep_demo import run_sweep
    except ModuleNotFoundError as error:
        print(_needs_ros("demo", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid_ros.experiments import sweep_report
    from superovoid_ros.experiments.output import OutputError, output_folder, progress
    from superovoid_ros.experiments.replays import REPLAYS

    # A job that a script starts in the background inherits an ignored Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    console = Console()
    frames = None if arguments.frames is None else range(arguments.frames[0], arguments.frames[1] + 1)
    replay = REPLAYS[arguments.motion]
    if arguments.palms and arguments.motion == "bite":
        print("superovoid demo: --palms: is about hands, and --bite plays none", file=sys.stderr)
        return 2
    links = (("left_hand",), ("right_hand",)) if arguments.palms else replay.links
    try:
        folder = output_folder(arguments.output)
        with progress(console) as bar:
            task = bar.add_task("starting nodes", total=None)

            def on_row(row: sweep_report.SweepRow, total: int) -> None:
                text = f"{row.distance * 1e3:8.2f} mm, {row.intersecting:2d} in contact"
                bar.update(task, completed=None, advance=1, total=total, description=text)

            rows = run_sweep(
                frames, *links, motion=arguments.motion, representation=arguments.representation, on_row=on_row
            )
    except (NodeError, OutputError) as error:
        print(f"superovoid demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("superovoid demo: interrupted", file=sys.stderr)
        return 130
    for table in sweep_report.tables(rows, replay):
        console.print(table)
    csv_path, plot_path = folder / f"{replay.file}.csv", folder / f"{replay.file}.png"
    sweep_report.write_csv(rows, csv_path)
    sweep_report.plot(rows, plot_path, replay)
    console.print(f"frame by frame: {csv_path}", soft_wrap=True)
    console.print(f"plot:           {plot_path}", soft_wrap=True)
    return 0


def _positive(kind: type) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r}: must be a positive {'integer' if kind is int else 'number'}")
        return value

    return read


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer that is not negative")
    return int(text)


def _numbers(kind: type) -> Callable[[str], list]:
    def read(text: str) -> list:
        try:
            values = [kind(part) for part in text.split(",")]
        except ValueError:
            values = []
        if not values or not all(0 < value < float("inf") for value in values):
            raise argparse.ArgumentTypeError(f"{text!r}: must be positive numbers, for example 1,4,16")
        return values

    return read


def load(arguments: argparse.Namespace) -> int:
    """Put the distance service under load and faults and report."""
    try:
        from superovoid_ros.nodes.child import NodeError
        from superovoid_ros.nodes.load import run
    except ModuleNotFoundError as error:
        print(_needs_ros("load", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid_ros.experiments import load as experiment
    from superovoid_ros.experiments.output import OutputError, machine, output_folder

    signal.signal(signal.SIGINT, signal.default_int_handler)
    console = Console(width=max(120, Console().width))
    try:
        folder = output_folder(arguments.output)
        results = run(
            arguments.clients,
            arguments.rates,
            arguments.duration,
            faults=not arguments.no_faults,
            soak=arguments.soak,
            soak_rate=arguments.soak_rate,
            seed=arguments.seed,
            report=lambda text: console.print(text, highlight=False),
        )
    except (NodeError, OutputError) as error:
        print(f"superovoid load: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("superovoid load: interrupted", file=sys.stderr)
        return 130
    console.print(experiment.table(results.steps))
    if results.findings:
        console.print(experiment.findings_table(results.findings))
    for problem in results.problems[:10]:
        console.print(f"wrong: {problem}", highlight=False)
    console.print(machine(), highlight=False)
    steps_path, plot_path, memory_path = (folder / name for name in ("load.csv", "load.png", "load_memory.csv"))
    experiment.write_csv(results.steps, steps_path)
    experiment.plot(results.steps, plot_path, results.memory)
    written = {"table": steps_path, "plot": plot_path}
    if results.memory is not None:
        experiment.write_memory(results.memory, memory_path)
        written["memory"] = memory_path
        console.print(f"memory of the node: {results.memory}", highlight=False)
    for name, path in written.items():
        console.print(f"{name}: {path}", soft_wrap=True)
    return 0 if results.is_well else 1


def bench(arguments: argparse.Namespace) -> int:
    """Measure the engine and the scene on this machine."""
    from superovoid_ros.experiments import benchmark

    return benchmark.main(pairs=arguments.pairs, repeats=arguments.repeats, seed=arguments.seed)


_MEANINGS = {
    "frames": "frames of each scene",
    "pairs": "pairs of each kind",
    "rounds": "times each pair is asked",
    "steps": "time steps of a contact",
    "seed": "of the random bodies",
    "output": "folder for what is written",
}

EXPERIMENTS: dict[str, tuple[str, str, dict[str, object]]] = {
    "bite": (
        "bite",
        "two molars that bite: time and distance of every frame (Gonçalves et al. 2017, sections 5.3 and 6.4)",
        {"rounds": 7, "output": Path("superovoid_experiments")},
    ),
    "hands": (
        "hands",
        "the iCub's hands: the eight representations of table 4 (Gonçalves et al. 2017, sections 5.2 and 6.3)",
        {"rounds": 5, "output": Path("superovoid_experiments")},
    ),
    "lower-bound": (
        "lower_bound",
        "a lower bound of the distance of polyhedra, without taking them apart",
        {"pairs": 20, "rounds": 5, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "line-geometry": (
        "line_geometry",
        "common normals by line geometry (Sohn et al. 2002): an ellipsoid that moves around other bodies",
        {"frames": 200, "rounds": 20, "pairs": 300, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-ellipsoids": (
        "lopes_ellipsoids",
        "common normals of ellipsoids along prescribed motions (Lopes et al. 2010, table 5)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-superellipsoids": (
        "lopes_superellipsoids",
        "common normals of superellipsoids along prescribed motions (Lopes et al. 2010, table 6)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-dynamics": (
        "lopes_dynamics",
        "bodies thrown at each other: contact forces and equations of motion (Lopes et al. 2010, section 6)",
        {"steps": 200, "output": Path("superovoid_experiments")},
    ),
    "battery-separated": (
        "battery_separated",
        "schemes of Gonçalves et al. 2017 on random superovoids that are apart (table 2)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "battery-overlapping": (
        "battery_overlapping",
        "the same on random superovoids that overlap (table 1)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "first-guesses": (
        "first_guesses",
        "its quadtrees and octrees by their levels (section 4.4, figures 5 and 6)",
        {"pairs": 2000, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "memory": (
        "memory",
        "bytes of a body, exact, as an octree and as meshes (table 3)",
        {"pairs": 20, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "suggestions": (
        "suggestions",
        "what that paper suggests: interior points, Wellmann's directions, Baumgarte's term (sections 6.1 and 7)",
        {"pairs": 300, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "accuracy": (
        "accuracy",
        "error and time of meshes of superovoids by their resolution, beside exact surfaces (figs. 9 and 10)",
        {"pairs": 100, "seed": 0, "output": Path("superovoid_experiments")},
    ),
}
"""`superovoid experiment NAME`: module of `experiments`, what it is, options of its `main` with their defaults."""


def _measurement(
    subjects: argparse._SubParsersAction, subject: str, module: str, text: str, **defaults: object
) -> None:
    """Add a command that calls `experiments.module.main` with one option for each of its parameters."""
    command = subjects.add_parser(subject, help=text, description=f"{text[0].upper()}{text[1:]}.")
    for name, default in defaults.items():
        metavar = "DIR" if isinstance(default, Path) else "N"
        text = f"{_MEANINGS[name]} (default: {default})"
        kind = _seed if name == "seed" else _positive(int) if isinstance(default, int) else type(default)
        command.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar, help=text)

    def run(arguments: argparse.Namespace) -> int:
        from superovoid_ros.experiments.output import OutputError

        experiment = importlib.import_module(f"superovoid_ros.experiments.{module}")
        try:
            return experiment.main(**{name: getattr(arguments, name) for name in defaults})
        except OutputError as error:
            print(f"superovoid: {error}", file=sys.stderr)
            return 1

    command.set_defaults(run=run)


def bench_never_wrong(arguments: argparse.Namespace) -> int:
    """Attack the engine with random pairs of every kind."""
    try:
        from superovoid_ros.experiments import never_wrong
    except ModuleNotFoundError as error:
        print(f"superovoid bench never-wrong: no module {error.name!r}: pip install '.[bench]'", file=sys.stderr)
        return 1
    try:
        return never_wrong.main(
            arguments.pairs,
            arguments.seed,
            mpmath_pairs=arguments.mpmath,
            threads=arguments.threads,
            families=arguments.family or (),
            output=arguments.output,
        )
    except ValueError as error:
        print(f"superovoid bench never-wrong: {error}", file=sys.stderr)
        return 1


def bench_fuzz(arguments: argparse.Namespace) -> int:
    """Give inputs that nobody meant to everything that reads something."""
    try:
        from superovoid_ros.experiments.fuzz import running
    except ModuleNotFoundError as error:
        print(f"superovoid bench fuzz: no module {error.name!r}: pip install '.[test]'", file=sys.stderr)
        return 1
    try:
        return running.main(arguments.kind, arguments.inputs, arguments.seed, arguments.output, arguments.replay)
    except ValueError as error:
        print(f"superovoid bench fuzz: {error}", file=sys.stderr)
        return 1


def plan(arguments: argparse.Namespace) -> int:
    """Plan both hands to a grasp around an object."""
    failures, options = (ValueError,), {}
    if arguments.service:
        # As in `demo`, before anything else.
        try:
            from superovoid_ros.nodes.planner import FAILURES, planning_service
        except ModuleNotFoundError as error:
            print(_needs_ros("plan --service", error), file=sys.stderr)
            return 1
        failures += FAILURES
        options["distances"] = lambda example: planning_service(example.problem, example.urdf, example.srdf)
    try:
        import ompl  # noqa: F401 (before the minute that all else takes)

        from superovoid_ros.experiments import plan_grasp
    except ModuleNotFoundError as error:
        print(f"superovoid plan: no module {error.name!r}: pip install '.[plan]'", file=sys.stderr)
        return 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return plan_grasp.main(arguments.seed, arguments.margin, arguments.time, arguments.output, **options)
    except (plan_grasp.PlanningError, *failures) as error:
        print(f"superovoid plan: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("superovoid plan: interrupted", file=sys.stderr)
        return 130


def fit_hands(arguments: argparse.Namespace) -> int:
    """Fit the bodies of the iCub's hands and write the models made from them."""
    from superovoid_ros.fitting import hands
    from superovoid_ros.robot.icub import write_hands
    from superovoid_ros.robot.icub_body import ARM, write_upper_body

    figures = arguments.share / "config" / hands.FIGURES
    if not figures.is_file():
        print(f"superovoid fit hands: --share {arguments.share}: no file {figures}", file=sys.stderr)
        return 1
    if not arguments.models_only:
        print(hands.fit_hands(arguments.share / "config", report=print))
    for path in write_hands(arguments.share):
        print(path)
    # A folder may hold the hands alone.
    if (arguments.share / "config" / ARM).is_file():
        for path in write_upper_body(arguments.share):
            print(path)
    return 0


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = argparse.ArgumentParser(prog="superovoid", description="Exact distances between superovoids.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser(
        "demo",
        help="the two-hands grasp sweep, or a bite, through the ROS 2 services",
        description="Start the distance service and the sweep player, follow the motion through the services, and "
        "print a table, a CSV file and a plot.",
    )
    command.add_argument(
        "--output", type=Path, default=Path("superovoid_demo"), metavar="DIR", help="folder for CSV and plot"
    )
    command.add_argument("--frames", type=_frames, metavar="FIRST:LAST", help="only these frames (default: all)")
    command.add_argument(
        "--representation",
        default="mixed",
        choices=("superellipsoids", "superovoids", "mixed"),
        help="contact geometry of the hands (default: mixed)",
    )
    moved = command.add_mutually_exclusive_group()
    for name, text in (
        ("arms", "let the iCub's arms move the hands"),
        ("bite", "two molars that bite, instead of the hands"),
    ):
        moved.add_argument(f"--{name}", dest="motion", action="store_const", const=name, default="hands", help=text)
    command.add_argument("--palms", action="store_true", help="check the palms too, not the fingers only")
    command.set_defaults(run=demo)

    command = commands.add_parser(
        "load",
        help="the distance service under load and faults",
        description="Start the distance service and clients as processes, let them ask at rising rates, then kill "
        "and confuse them; print tables, write CSV and a plot; exit code 1 where a call is lost or an answer wrong.",
    )
    command.add_argument(
        "--clients", type=_numbers(int), default=[1, 4, 16], metavar="N,..", help="clients at once (default: 1,4,16)"
    )
    command.add_argument(
        "--rates",
        type=_numbers(float),
        default=[20.0, 50.0, 100.0, 200.0, 400.0],
        metavar="HZ,..",
        help="calls a second, of all clients (default: 20,50,100,200,400)",
    )
    command.add_argument("--duration", type=float, default=4.0, metavar="S", help="of each step (default: 4)")
    command.add_argument(
        "--soak", type=float, default=0.0, metavar="S", help="length of a run that watches memory (default: none)"
    )
    command.add_argument(
        "--soak-rate", type=float, default=40.0, metavar="HZ", help="calls a second in it (default: 40)"
    )
    command.add_argument("--no-faults", action="store_true", help="load only")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the states asked about (default: 0)")
    command.add_argument(
        "--output", type=Path, default=Path("superovoid_load"), metavar="DIR", help="folder for CSV and plot"
    )
    command.set_defaults(run=load)

    command = commands.add_parser(
        "bench",
        help="speed of the engine and of a scene of two hands",
        description="Time compiled loops over random pairs and queries of the two hands; medians and p99.",
    )
    command.add_argument("--pairs", type=int, default=4000, metavar="N", help="pairs of each battery (default: 4000)")
    command.add_argument("--repeats", type=int, default=7, metavar="N", help="runs of each loop (default: 7)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the random pairs (default: 0)")
    command.set_defaults(run=bench)
    subjects = command.add_subparsers(dest="subject", metavar="SUBJECT")
    _measurement(
        subjects,
        "scale",
        "scale",
        "time of a frame of scenes of 10 to 10,000 bodies",
        frames=100,
        seed=0,
        output=Path("superovoid_bench"),
    )
    command = subjects.add_parser(
        "never-wrong",
        help="attack the engine with random pairs of every kind",
        description="Draw convex and dented pairs over the whole parameter range, solve them, and check every answer "
        "by tests that share no code with the engine; print tables, write CSV and failing pairs; exit code 1 on any.",
    )
    command.add_argument("--pairs", type=int, default=100_000, metavar="N", help="random pairs (default: 100000)")
    command.add_argument("--seed", type=int, default=1, metavar="N", help="of the random pairs (default: 1)")
    command.add_argument(
        "--mpmath", type=int, default=0, metavar="N", help="pairs compared with 40 digits (default: 0)"
    )
    command.add_argument("--threads", type=int, default=1, metavar="N", help="chunks at a time (default: 1)")
    command.add_argument("--family", action="append", metavar="NAME", help="only this family; may be repeated")
    command.add_argument("--output", type=Path, metavar="DIR", help="folder for the files (default: this one)")
    command.set_defaults(run=bench_never_wrong)
    command = subjects.add_parser(
        "fuzz",
        help="mutated, truncated and absurd inputs for everything that is read",
        description="Give descriptions, meshes, octrees and whatever else comes from outside in wrong forms to what "
        "reads it, in a process with bounds of time and memory; print what was given, and keep an input that did what "
        "none may do; exit code 1 where there is one.",
    )
    command.add_argument("--kind", action="append", metavar="NAME", help="only this kind; may be repeated")
    command.add_argument(
        "--inputs", type=_positive(int), default=1000, metavar="N", help="of each kind (default: 1000)"
    )
    command.add_argument("--seed", type=_seed, default=1, metavar="N", help="of the inputs (default: 1)")
    command.add_argument(
        "--output", type=Path, default=Path("superovoid_fuzz"), metavar="DIR", help="folder for failing inputs"
    )
    command.add_argument("--replay", type=Path, metavar="FILE", help="give this input again, of the one --kind")
    command.set_defaults(run=bench_fuzz)
    _measurement(
        subjects,
        "engine",
        "engine_comparison",
        "this engine beside Coal, FCL, MuJoCo and distance3d on the same pairs",
        pairs=100,
        rounds=5,
        seed=0,
        output=Path("superovoid_bench"),
    )

    _measurement(
        subjects,
        "kinds",
        "kinds_comparison",
        "every pair of kinds of bodies beside Coal",
        pairs=1000,
        seed=0,
        output=Path("superovoid_bench"),
    )

    command = commands.add_parser(
        "experiment",
        help="the experiments of the papers, with today's libraries beside them",
        description="Run an experiment of the papers again: a table, CSV files and a plot.",
    )
    subjects = command.add_subparsers(dest="experiment", required=True, metavar="NAME")
    for name, (module, text, defaults) in EXPERIMENTS.items():
        _measurement(subjects, name, module, text, **defaults)

    command = commands.add_parser(
        "plan",
        help="both hands to a grasp around an object, without unwanted contact",
        description="Find a grasp, plan the way there (OMPL), shorten it and keep a margin by gradients of distances; "
        "check it by independent means, print a table, write CSV and plots. Exit code 1 where that check fails.",
    )
    command.add_argument("--seed", type=_positive(int), default=1, metavar="N", help="of the planner (default: 1)")
    command.add_argument(
        "--margin", type=float, metavar="METRES", help="kept along the path (default: config/plan_grasp.yaml's)"
    )
    command.add_argument(
        "--time", type=_positive(float), default=300.0, metavar="SECONDS", help="at most, of the planner (default: 300)"
    )
    command.add_argument(
        "--output", type=Path, default=Path("superovoid_plan"), metavar="DIR", help="folder for CSV and plots"
    )
    command.add_argument(
        "--service", action="store_true", help="ask a distance service in a process of its own (needs ROS 2)"
    )
    command.set_defaults(run=plan)

    command = commands.add_parser("fit", help="fit contact geometry again")
    subjects = command.add_subparsers(dest="subject", required=True, metavar="SUBJECT")
    command = subjects.add_parser(
        "hands",
        help="of the iCub's hands",
        description="Fit superellipsoids and superovoids to the finger links (config/icub_hand.yaml), print how close "
        "they are, and write fits, URDF, meshes and SRDF, and the models of the upper body.",
    )
    command.add_argument(
        "--share", type=Path, default=Path(), metavar="DIR", help="folder with config/ and urdf/ (default: this one)"
    )
    command.add_argument("--models-only", action="store_true", help="keep the fits, write only what is made from them")
    command.set_defaults(run=fit_hands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 where all went well."""
    chosen = parser().parse_args(arguments)
    return chosen.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
