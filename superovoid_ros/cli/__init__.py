"""The `superovoid` command."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from superovoid_ros import __version__
from superovoid_ros.cli import option_values
from superovoid_ros.tools.interruption import INTERRUPTS, Interrupted, ignore


def _needs_ros(command: str, error: ModuleNotFoundError) -> str:
    return (
        f"superovoid {command} needs ROS 2 and the interfaces of this package: no module {error.name!r}.\n"
        "Without ROS 2: pip install ./superovoid_interfaces '.[wheels]'\n"
        "With ROS 2: build both packages with colcon and source install/setup.bash"
    )


def check_demo(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `demo` taken together; empty: nothing."""
    of_hands = ("--palms", arguments.palms), ("--representation", arguments.representation)
    for option, given in of_hands:
        if arguments.motion == "bite" and given:
            return f"argument {option}: is about hands, and --bite plays none"
    if arguments.frames is not None:
        from superovoid_ros.motions.replays import REPLAYS

        last = REPLAYS[arguments.motion].frames() - 1
        if arguments.frames[1] > last:
            return f"argument --frames: {'{}:{}'.format(*arguments.frames)}: there are frames 0 to {last}"
    return ""


def demo(arguments: argparse.Namespace) -> int:
    """Walk a motion through the services and report."""
    # ROS 2 is needed by this command only. Its wheels may restart Python once to set the library path, so they come
    # before any output.
    try:
        from superovoid_ros.tools.demo.walk import run_sweep
        from superovoid_ros.tools.process.child import NodeError
    except ModuleNotFoundError as error:
        print(_needs_ros("demo", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid_ros.motions.replays import REPLAYS
    from superovoid_ros.output import OutputError, output_folder, progress
    from superovoid_ros.resources import share_directory
    from superovoid_ros.tools.demo import report

    console = Console()
    frames = None if arguments.frames is None else range(arguments.frames[0], arguments.frames[1] + 1)
    replay = REPLAYS[arguments.motion]
    links = (("left_hand",), ("right_hand",)) if arguments.palms else replay.links
    if arguments.visible:
        view = share_directory() / "config" / f"{replay.view}.rviz"
        console.print(f"in RViz: rviz2 -d {view}", soft_wrap=True)
    try:
        folder = output_folder(arguments.output)
        with progress(console) as bar:
            task = bar.add_task("starting nodes", total=None)
            told = set()

            def on_row(row: report.SweepRow, total: int) -> None:
                text = f"{row.distance * 1e3:8.2f} mm, {row.intersecting:2d} in contact"
                bar.update(task, completed=None, advance=1, total=total, description=text)

            def on_wait(text: str) -> None:
                bar.update(task, description=text)
                subject = text.partition(":")[0]
                if not console.is_terminal and subject not in told:  # no bar there
                    told.add(subject)
                    print(subject, file=sys.stderr, flush=True)

            rows = run_sweep(
                frames,
                *links,
                motion=arguments.motion,
                representation=arguments.representation or "mixed",
                visible=arguments.visible or 0.0,
                on_row=on_row,
                on_wait=on_wait,
            )
    except (NodeError, OutputError) as error:
        print(f"superovoid demo: {error}", file=sys.stderr)
        return 1
    for table in report.tables(rows, replay):
        console.print(table)
    csv_path, plot_path = folder / f"{replay.file}.csv", folder / f"{replay.file}.png"
    report.write_csv(rows, csv_path)
    report.plot(rows, plot_path, replay)
    console.print(f"frame by frame: {csv_path}", soft_wrap=True)
    console.print(f"plot:           {plot_path}", soft_wrap=True)
    return 0


def load(arguments: argparse.Namespace) -> int:
    """Put the distance service under load and faults and report."""
    try:
        from superovoid_ros.tools.load.run import run
        from superovoid_ros.tools.process.child import NodeError
    except ModuleNotFoundError as error:
        print(_needs_ros("load", error), file=sys.stderr)
        return 1
    from rich.console import Console

    from superovoid_ros.output import OutputError, leave, machine, output_folder
    from superovoid_ros.tools.load import measures as experiment

    console = Console(width=max(120, Console().width))
    try:
        folder = output_folder(arguments.output)
        results = run(
            arguments.clients,
            arguments.rates,
            arguments.duration,
            faults=not arguments.no_faults,
            soak=arguments.soak,
            soak_rate=arguments.soak_rate or _SOAK_RATE,
            seed=arguments.seed,
            report=lambda text: console.print(text, highlight=False),
        )
    except (NodeError, OutputError) as error:
        print(f"superovoid load: {error}", file=sys.stderr)
        return 1
    console.print(experiment.table(results.steps))
    if results.findings:
        console.print(experiment.findings_table(results.findings))
    lines = [f"wrong: {problem}" for problem in results.problems[:10]]
    tables = {"load": results.steps}
    if results.memory is not None:
        tables["load_memory"] = results.memory.rows()
        lines.append(f"memory of the node: {results.memory}")
    plots = {"load": lambda path: experiment.plot(results.steps, path, results.memory)}
    leave(console, folder, tables, plots, (_load_line(arguments), machine()), lines)
    return 0 if results.is_well else 1


def _load_line(arguments: argparse.Namespace) -> str:
    """Return the command that was given, defaults included."""
    numbers = ",".join(map(str, arguments.clients)), ",".join(f"{rate:g}" for rate in arguments.rates)
    line = "superovoid load --clients {} --rates {}".format(*numbers)
    line += f" --duration {arguments.duration:g} --seed {arguments.seed}"
    if arguments.soak:
        line += f" --soak {arguments.soak:g} --soak-rate {arguments.soak_rate or _SOAK_RATE:g}"
    return line + (" --no-faults" if arguments.no_faults else "")


_SOAK_RATE = 40.0
_BENCH = {"pairs": 4000, "repeats": 7, "seed": 0}


def check_load(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `load` taken together; empty: nothing."""
    if arguments.soak_rate is not None and not arguments.soak:
        return "argument --soak-rate: is about a long run, and --soak asks for none"
    return ""


def check_bench(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `bench` taken together; empty: nothing."""
    for name in _BENCH:
        if arguments.subject and getattr(arguments, f"bench_{name}") is not None:
            return f"argument --{name}: is about `superovoid bench`; options of {arguments.subject} come after its name"
    return ""


def bench(arguments: argparse.Namespace) -> int:
    """Measure the engine and the scene on this machine."""
    from superovoid_ros.experiments.benchmarks import engine_speed

    given = {name: getattr(arguments, f"bench_{name}") for name in _BENCH}
    return engine_speed.main(**_BENCH | {name: value for name, value in given.items() if value is not None})


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
        "goncalves2017.bite",
        "two molars that bite: time and distance of every frame (Gonçalves et al. 2017, sections 5.3 and 6.4)",
        {"rounds": 7, "output": Path("superovoid_experiments")},
    ),
    "hands": (
        "goncalves2017.hands",
        "the iCub's hands: the eight representations of table 4 (Gonçalves et al. 2017, sections 5.2 and 6.3)",
        {"rounds": 5, "output": Path("superovoid_experiments")},
    ),
    "lower-bound": (
        "lower_bound.tables",
        "a lower bound of the distance of polyhedra, without taking them apart",
        {"pairs": 20, "rounds": 5, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "line-geometry": (
        "sohn2002.line_geometry",
        "common normals by line geometry (Sohn et al. 2002): an ellipsoid that moves around other bodies",
        {"frames": 200, "rounds": 20, "pairs": 300, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-ellipsoids": (
        "lopes2010.ellipsoids",
        "common normals of ellipsoids along prescribed motions (Lopes et al. 2010, table 5)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-superellipsoids": (
        "lopes2010.superellipsoids",
        "common normals of superellipsoids along prescribed motions (Lopes et al. 2010, table 6)",
        {"pairs": 1000, "rounds": 25, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "lopes-dynamics": (
        "lopes2010.free_bodies",
        "bodies thrown at each other: contact forces and equations of motion (Lopes et al. 2010, section 6)",
        {"steps": 200, "output": Path("superovoid_experiments")},
    ),
    "battery-separated": (
        "goncalves2017.battery_separated",
        "schemes of Gonçalves et al. 2017 on random superovoids that are apart (table 2)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "battery-overlapping": (
        "goncalves2017.battery_overlapping",
        "the same on random superovoids that overlap (table 1)",
        {"pairs": 10_000, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "first-guesses": (
        "goncalves2017.first_guesses",
        "its quadtrees and octrees by their levels (section 4.4, figures 5 and 6)",
        {"pairs": 2000, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "memory": (
        "goncalves2017.memory",
        "bytes of a body, exact, as an octree and as meshes (table 3)",
        {"pairs": 20, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "suggestions": (
        "goncalves2017.suggestions",
        "what that paper suggests: interior points, Wellmann's directions, Baumgarte's term (sections 6.1 and 7)",
        {"pairs": 300, "rounds": 3, "seed": 0, "output": Path("superovoid_experiments")},
    ),
    "accuracy": (
        "goncalves2017.accuracy",
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
        text = f"{_MEANINGS[name]} (default: {default})"
        if isinstance(default, Path):
            kind, metavar, default = option_values.output_folder, "DIR", str(default)
        else:
            kind, metavar = option_values.seed if name == "seed" else option_values.count(), "N"
        command.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar, help=text)

    def run(arguments: argparse.Namespace) -> int:
        from superovoid_ros.output import OutputError

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
        from superovoid_ros.experiments.judges import never_wrong
    except ModuleNotFoundError as error:
        print(f"superovoid bench never-wrong: no module {error.name!r}: pip install '.[bench]'", file=sys.stderr)
        return 1
    return never_wrong.main(
        arguments.pairs,
        arguments.seed,
        mpmath_pairs=arguments.mpmath,
        threads=arguments.threads,
        flat_pairs=arguments.flat,
        families=arguments.family or (),
        output=arguments.output,
    )


def _family(text: str) -> str:
    from superovoid_ros.experiments.judges.random_pairs import FAMILIES

    if text not in FAMILIES:
        raise argparse.ArgumentTypeError(f"{option_values.quoted(text)}: must be one of {', '.join(FAMILIES)}")
    return text


def check_plan(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `plan` taken together; empty: nothing."""
    if arguments.margin is not None:
        import yaml

        from superovoid_ros.resources import share_directory

        text = (share_directory() / "config" / "plan_grasp.yaml").read_text(encoding="utf-8")
        clearance = yaml.safe_load(text)["clearance"]
        if arguments.margin < clearance:
            return f"argument --margin: {arguments.margin:g}: must be at least the clearance, {clearance:g} m"
    return ""


def check_fuzz(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options of `bench fuzz` taken together; empty: nothing."""
    if arguments.replay is not None and len(arguments.kind or ()) != 1:
        return "argument --replay: give the kind of the input, one --kind"
    try:
        from superovoid_ros.experiments.judges.fuzz import target_of

        for kind in arguments.kind or ():
            target_of(kind)
    except ModuleNotFoundError:
        return ""  # `bench_fuzz` says what is missing
    except ValueError as error:
        return f"argument --kind: {error}"
    return ""


def bench_fuzz(arguments: argparse.Namespace) -> int:
    """Give inputs that nobody meant to everything that reads something."""
    try:
        from superovoid_ros.experiments.judges.fuzz import running
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
            from superovoid_ros.tools.service_planner import FAILURES, planning_service
        except ModuleNotFoundError as error:
            print(_needs_ros("plan --service", error), file=sys.stderr)
            return 1
        failures += FAILURES
        options["distances"] = lambda example: planning_service(example.problem, example.urdf, example.srdf)
    try:
        import ompl  # noqa: F401 (before the minute that all else takes)

        from superovoid_ros.experiments import grasp_planning
        from superovoid_ros.planning import PlanningError
    except ModuleNotFoundError as error:
        print(f"superovoid plan: no module {error.name!r}: pip install '.[plan]'", file=sys.stderr)
        return 1
    try:
        return grasp_planning.main(arguments.seed, arguments.margin, arguments.time, arguments.output, **options)
    except (PlanningError, *failures) as error:
        print(f"superovoid plan: {error}", file=sys.stderr)
        return 1


def fit_hands(arguments: argparse.Namespace) -> int:
    """Fit the bodies of the iCub's hands and write the models made from them."""
    from superovoid_ros.icub import hand_fits
    from superovoid_ros.icub.hand_models import write_hands
    from superovoid_ros.icub.upper_body import ARM, write_upper_body

    if not arguments.models_only:
        print(hand_fits.fit_hands(arguments.share / "config", report=print))
    for path in write_hands(arguments.share):
        print(path)
    # A folder may hold the hands alone.
    if (arguments.share / "config" / ARM).is_file():
        for path in write_upper_body(arguments.share):
            print(path)
    return 0


def _output(command: argparse.ArgumentParser, default: str, text: str = "folder for CSV and plot") -> None:
    text += f" (default: {default})"
    command.add_argument("--output", type=option_values.output_folder, default=default, metavar="DIR", help=text)


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = argparse.ArgumentParser(prog="superovoid", description="Exact distances between superovoids.")
    top.add_argument("--version", action="version", version=f"superovoid {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser(
        "demo",
        help="the two-hands grasp sweep, or a bite, through the ROS 2 services",
        description="Start the distance service and the sweep player, follow the motion through the services, and "
        "print a table, a CSV file and a plot. The nodes are in a ROS domain of their own, on this machine only.",
    )
    _output(command, "superovoid_demo")
    command.add_argument(
        "--frames", type=option_values.frames, metavar="FIRST:LAST", help="only these frames (default: all)"
    )
    command.add_argument(
        "--representation",
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
    command.add_argument(
        "--visible",
        type=option_values.number(most=1000.0, unit="frames a second"),
        nargs="?",
        const=20.0,
        metavar="HZ",
        help="for RViz and `ros2`: the nodes run in the ROS domain of this environment under their usual names, and so "
        "many frames are played a second (20)",
    )
    command.set_defaults(run=demo, check=check_demo)

    command = commands.add_parser(
        "load",
        help="the distance service under load and faults",
        description="Start the distance service and clients as processes, let them ask at rising rates, then kill "
        "and confuse them; print tables, write CSV and a plot; exit code 1 where a call is lost or an answer wrong.",
    )
    command.add_argument(
        "--clients",
        type=option_values.numbers(option_values.count(1, 256)),
        default="1,4,16",
        metavar="N,..",
        help="clients at once (default: 1,4,16)",
    )
    rate = option_values.number(most=1e5, unit="calls a second")
    command.add_argument(
        "--rates",
        type=option_values.numbers(rate),
        default="20,50,100,200,400",
        metavar="HZ,..",
        help="calls a second, of all clients (default: 20,50,100,200,400)",
    )
    command.add_argument(
        "--duration",
        type=option_values.number(most=86400.0, unit="seconds"),
        default=4.0,
        metavar="S",
        help="of each step (default: 4)",
    )
    command.add_argument(
        "--soak",
        type=option_values.number(most=2.6e6, above=False, unit="seconds"),
        default=0.0,
        metavar="S",
        help="length of a run that watches memory (default: none)",
    )
    command.add_argument("--soak-rate", type=rate, metavar="HZ", help=f"calls a second in it (default: {_SOAK_RATE:g})")
    command.add_argument("--no-faults", action="store_true", help="load only")
    command.add_argument(
        "--seed", type=option_values.seed, default=0, metavar="N", help="of the states asked about (default: 0)"
    )
    _output(command, "superovoid_load")
    command.set_defaults(run=load, check=check_load)

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
    command.set_defaults(run=bench, check=check_bench)
    subjects = command.add_subparsers(dest="subject", metavar="SUBJECT")
    _measurement(
        subjects,
        "scale",
        "benchmarks.scale",
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
    for name, kind, default, text in (
        ("pairs", option_values.count(), 100_000, "random pairs"),
        ("seed", option_values.seed, 1, "of the random pairs"),
        ("mpmath", option_values.count(0), 0, "pairs compared with 40 digits"),
        ("flat", option_values.count(0), 0, "pairs of flats of all kinds of bodies"),
        ("threads", option_values.count(most=1024), 1, "chunks at a time"),
    ):
        command.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text} (default: {default})")
    command.add_argument(
        "--family", type=_family, action="append", metavar="NAME", help="only this family; may be repeated"
    )
    _output(command, ".", "folder for the files")
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
        "--inputs", type=option_values.count(), default=1000, metavar="N", help="of each kind (default: 1000)"
    )
    command.add_argument("--seed", type=option_values.seed, default=1, metavar="N", help="of the inputs (default: 1)")
    _output(command, "superovoid_fuzz", "folder for failing inputs")
    command.add_argument(
        "--replay", type=option_values.file, metavar="FILE", help="give this input again, of the one --kind"
    )
    command.set_defaults(run=bench_fuzz, check=check_fuzz)
    _measurement(
        subjects,
        "engine",
        "benchmarks.engine_comparison",
        "this engine beside Coal, FCL, MuJoCo and distance3d on the same pairs",
        pairs=100,
        rounds=5,
        seed=0,
        output=Path("superovoid_bench"),
    )

    _measurement(
        subjects,
        "kinds",
        "benchmarks.kinds_comparison",
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
    command.add_argument(
        "--seed",
        type=option_values.count(1, option_values.LARGEST_SEED),
        default=1,
        metavar="N",
        help="of the planner (default: 1)",
    )
    command.add_argument(
        "--margin",
        type=option_values.number(most=1.0, unit="metres"),
        metavar="METRES",
        help="kept along the path (default: config/plan_grasp.yaml's)",
    )
    command.add_argument(
        "--time",
        type=option_values.number(most=86400.0, unit="seconds"),
        default=300.0,
        metavar="SECONDS",
        help="at most, of the planner (default: 300)",
    )
    _output(command, "superovoid_plan", "folder for CSV and plots")
    command.add_argument(
        "--service", action="store_true", help="ask a distance service in a process of its own (needs ROS 2)"
    )
    command.set_defaults(run=plan, check=check_plan)

    command = commands.add_parser("fit", help="fit contact geometry again")
    subjects = command.add_subparsers(dest="subject", required=True, metavar="SUBJECT")
    command = subjects.add_parser(
        "hands",
        help="of the iCub's hands",
        description="Fit superellipsoids and superovoids to the finger links (config/icub_hand.yaml), print how close "
        "they are, and write fits, URDF, meshes and SRDF, and the models of the upper body.",
    )
    command.add_argument(
        "--share",
        type=option_values.folder_with("config/icub_hand.yaml"),
        default=".",
        metavar="DIR",
        help="folder with config/ and urdf/ (default: this one)",
    )
    command.add_argument("--models-only", action="store_true", help="keep the fits, write only what is made from them")
    command.set_defaults(run=fit_hands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        Exit code: 0 where all went well, 1 where it failed, 2 (by SystemExit) where an option makes no sense, 128 and
        the number of the signal that ended it.
    """
    chosen = None
    try:
        with INTERRUPTS:
            top = parser()
            chosen = top.parse_args(arguments)
            problem = chosen.check(chosen) if "check" in chosen else ""
            if problem:
                top.exit(2, f"{_name(chosen)}: error: {problem}\n")
            return chosen.run(chosen)
    except Interrupted as error:
        return _interrupted(chosen, error.number)
    except OSError as error:
        # A terminal that was closed cannot be written to, which may come before the signal is noticed.
        if INTERRUPTS.came is not None:
            return _interrupted(chosen, INTERRUPTS.came)
        if error.filename is None:
            raise
        print(f"{_name(chosen)}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


def _name(chosen: argparse.Namespace | None) -> str:
    words = [getattr(chosen, level, None) for level in ("command", "subject", "experiment")]
    return " ".join(["superovoid", *filter(None, words)])


def _interrupted(chosen: argparse.Namespace | None, number: int) -> int:
    words = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    with contextlib.suppress(OSError):
        print(f"{_name(chosen)}: {words}", file=sys.stderr)
    return 128 + number


def command() -> None:
    """Run the command as a program: `main`, and end the process."""
    code = main()
    ignore()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # A terminal that was closed: the interpreter would fail at this too, with an exit code of its own.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
