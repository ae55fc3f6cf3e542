# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid fit robot.urdf`: fit bodies to the links of any robot."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superovoid.cli import option_values
from superovoid.output import REPORT

if TYPE_CHECKING:
    from superovoid.fitting.planner_study import PlannerStudy
    from superovoid.fitting.robot_checks import RobotCheck
    from superovoid.fitting.robot_fits import LinkFit, RobotFit
    from superovoid.fitting.robot_pairs import FittedPairs

_KINDS = ("superovoid", "box", "cylinder", "capsule")
_FORMATS = ("urdf", "mjcf", "sdf", "usd")
_MAX_BODIES, _DEFAULT_TOLERANCE = 16, "1%"


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "fit",
        help="fit contact geometry to the links of any robot",
        description="Fit superovoids to the links of a robot whose geometry is meshes, all bodies of a link together. "
        "Judges each link as good, coarse or unusable at the tolerance. "
        "Writes the URDF with contact geometry added and a report (report.json, report.html) of measured and proved "
        "figures. A link that cannot be fitted keeps its geometry, and the reason is printed. If the output folder "
        "has fits of an earlier run, only links that have changed are fitted. The exit code is 1 if a link could not "
        "be fitted, or with --strict if a link is not good.",
        example="superovoid fit my_robot.urdf --tolerance 2mm --output my_robot_fit",
    )
    command.add_argument("urdf", metavar="URDF", help="the robot: a file, or package://name/urdf/robot.urdf")
    option_values.add_packages(command)
    command.add_argument(
        "--check",
        action="store_true",
        dest="only_check",
        help="fit nothing: compare the bodies in the URDF, from any source (contact geometry, or else collision "
        "elements), or the spheres in a YAML file of cuRobo, with its meshes, or those of --against",
    )
    command.add_argument("--against", metavar="URDF", help="with --check: the URDF with the meshes")
    command.add_argument(
        "--target",
        choices=("auto", "collision", "visual", "hull"),
        help="meshes to fit: those of a link's collision elements, or of its visual elements if it has no collision "
        "elements (auto, the default); always those of one kind; or the convex hull of a link's collision elements",
    )
    command.add_argument(
        "--tolerance",
        type=option_values.tolerance,
        default=_DEFAULT_TOLERANCE,
        metavar="LENGTH|PERCENT",
        help="largest error of a good link: 95 %% of the points of link and bodies are this close to each other; a "
        "length, for example 2mm, or a share of the link's diagonal (default: 1%%). Each link gets the fewest bodies "
        "that keep it, at most 12",
    )
    bodies = option_values.count(1, _MAX_BODIES)
    command.add_argument(
        "--bodies",
        type=bodies,
        metavar="N",
        help="this number of bodies per link; the tolerance only judges them",
    )
    command.add_argument(
        "--contain",
        action="store_true",
        help="bodies of small volume, proved to contain each link: one, or at most --bodies",
    )
    command.add_argument("--strict", action="store_true", help="exit with code 1 unless all links are good")
    command.add_argument(
        "--link",
        type=option_values.assignment_type(bodies, "NAME=N, for example panda_link5=4"),
        action=option_values.AddAssignment,
        default={},
        metavar="NAME=N",
        help="number of bodies of this link; may be repeated",
    )
    command.add_argument(
        "--kinds",
        type=option_values.some_of(_KINDS, or_else="auto"),
        default=("superovoid",),
        metavar="KIND,...",
        help=f"kinds of bodies: some of {', '.join(_KINDS)} (default: superovoid), the closest for each body; or auto: "
        "superovoids; the others, or fewer bodies, where these are about as close; a torus where it is closer",
    )
    rules = command.add_mutually_exclusive_group()
    rules.add_argument(
        "--srdf",
        metavar="SRDF",
        help="the robot's SRDF: write a copy whose disabled pairs are recomputed for the bodies",
    )
    rules.add_argument("--new-srdf", action="store_true", help="write an SRDF for a robot without one")
    command.add_argument(
        "--study",
        type=option_values.count(100, 10_000_000),
        metavar="N",
        help="compare bodies and meshes in N random states: how often and how deep only one of them collides, and "
        "how fast both are checked",
    )
    command.add_argument(
        "--states",
        type=option_values.count(1, 10_000_000),
        default=10_000,
        metavar="N",
        help="random states for --srdf (default: 10000)",
    )
    command.add_argument(
        "--tessellated",
        type=option_values.length,
        metavar="LENGTH",
        help="also write a ROS package with a URDF whose collision meshes contain the bodies and protrude from them by "
        "at most LENGTH, for example 1mm",
    )
    command.add_argument(
        "--spheres",
        type=option_values.tolerance,
        metavar="LENGTH|PERCENT",
        help="also write spheres, as YAML for cuRobo and as a URDF for VAMP: they contain the bodies of a link and "
        "protrude from them by at most this length, for example 10mm, or share of their diagonal, for example 4%%",
    )
    command.add_argument(
        "--format",
        type=option_values.some_of(_FORMATS),
        action="extend",
        default=[],
        metavar="FORMAT,...",
        help="also write the robot for other programs: mjcf (MuJoCo), sdf (Gazebo, Drake), usd (Isaac Sim). The URDF "
        "is always written",
    )
    command.add_argument(
        "--seed",
        type=option_values.seed,
        default=0,
        metavar="N",
        help="seed of the search and of random states (default: 0)",
    )
    option_values.add_output(command, "superovoid_fit", "folder for URDF, report and links already fitted")
    option_values.add_reporting(command)
    command.set_defaults(run=run, check=check, extra="fit")


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with the combination of options; empty if nothing is."""
    fits = ("bodies", "contain", "link", "srdf", "new_srdf", "tessellated", "spheres", "study")
    given = [f"--{name.replace('_', '-')}" for name in fits if getattr(arguments, name)]
    if arguments.only_check:
        return f"argument {given[0]}: not allowed with --check, which fits nothing" if given else ""
    if arguments.against is not None:
        return "argument --against: needs --check"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Fit the links of a robot."""
    from superovoid.cli.fit_tables import report_links, report_pairs, report_study
    from superovoid.fitting import fit_robot
    from superovoid.output import OutputError, output_folder
    from superovoid.robot import Robot

    if arguments.only_check:
        return _run_check(arguments)
    if "usd" in arguments.format and find_spec("pxr") is None:
        raise OutputError("--format usd: no module 'pxr': pip install 'superovoid[usd]'")
    folder = output_folder(arguments.output)
    if arguments.srdf is not None:
        # Load it before fitting, so that an error in it is reported at once.
        Robot.load(arguments.urdf, srdf=arguments.srdf, package_directories=arguments.package, meshes="ignore")
    with _progress("links") as update:
        fit = fit_robot(
            arguments.urdf,
            package_directories=arguments.package,
            target=arguments.target or "auto",
            bodies=arguments.bodies,
            tolerance=arguments.tolerance,
            contain=arguments.contain,
            kinds=arguments.kinds,
            links=arguments.link,
            seed=arguments.seed,
            folder=folder / "links",
            progress=_link_counter(update),
        )
    pairs = _pairs(arguments, fit)
    study = _study(arguments, fit)
    paths = _write(fit, pairs, study, arguments, folder)
    code = report_links(fit.links, fit.options.tolerance, holds=fit.options.contain, strict=arguments.strict)
    if pairs is not None:
        report_pairs(pairs.report)
    if study is not None:
        report_study(study)
    REPORT.files(paths)
    return code


def _run_check(arguments: argparse.Namespace) -> int:
    """Measure the bodies that the URDF has."""
    from superovoid.cli.fit_tables import report_links
    from superovoid.fitting import check_robot
    from superovoid.output import output_folder

    folder = output_folder(arguments.output)
    with _progress("links") as update:
        found = check_robot(
            arguments.urdf,
            against=arguments.against,
            target=None if arguments.target == "auto" else arguments.target,
            tolerance=arguments.tolerance,
            package_directories=arguments.package,
            seed=arguments.seed,
            progress=_link_counter(update),
        )
    texts = {
        folder / "check.json": json.dumps(found.report(), indent=1) + "\n",
        folder / "check.html": _page(found, arguments, {}),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    code = report_links(found.links, found.tolerance, holds=True, strict=arguments.strict)
    REPORT.files(texts)
    return code


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; the function that it gives takes the number of things done and the number of all."""
    from superovoid.output import progress

    with progress() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)


def _link_counter(update: Callable[[int, int], None]) -> Callable[[LinkFit, int], None]:
    """Return a function that counts finished links."""
    done = count(1)
    return lambda _link, links: update(next(done), links)


def _pairs(arguments: argparse.Namespace, fit: RobotFit) -> FittedPairs | None:
    """Recompute the disabled pairs, if requested."""
    from superovoid.fitting import PairSearch, fitted_pairs

    if arguments.srdf is None and not arguments.new_srdf:
        return None
    with _progress("states and pairs") as update:
        return fitted_pairs(
            fit,
            arguments.srdf,
            package_directories=fit.package_directories,
            search=PairSearch(arguments.states, arguments.seed),
            progress=update,
        )


def _study(arguments: argparse.Namespace, fit: RobotFit) -> PlannerStudy | None:
    """Compare bodies and meshes in random states, if requested."""
    from superovoid.fitting import study_planner

    if arguments.study is None:
        return None
    with _progress("states") as update:
        return study_planner(
            fit,
            arguments.srdf,
            package_directories=fit.package_directories,
            states=arguments.study,
            seed=arguments.seed,
            progress=update,
        )


def _write(
    fit: RobotFit,
    pairs: FittedPairs | None,
    study: PlannerStudy | None,
    arguments: argparse.Namespace,
    folder: Path,
) -> list[Path]:
    """Write all results and return their paths."""
    from superovoid.fitting.mjcf import write_mjcf
    from superovoid.fitting.robot_files import urdf_for_folder
    from superovoid.fitting.sdf import write_sdf
    from superovoid.fitting.sphere_files import write_spheres
    from superovoid.fitting.tessellated import write_tessellated
    from superovoid.fitting.usd import write_usd
    from superovoid.robot.mesh_files import DOCUMENT

    name = _name(arguments)
    report = fit.report()
    start = fit.package_directories.get(DOCUMENT)
    urdf = fit.urdf if start is None else urdf_for_folder(fit.urdf, start, folder)
    texts = {folder / f"{name}_superovoids.urdf": urdf}
    meshes = spheres = None
    if pairs is not None:
        texts[folder / f"{name}_superovoids.srdf"] = pairs.srdf
        report["pairs"] = pairs.report.to_dict()
    if study is not None:
        report["study"] = study.to_dict()
    if arguments.tessellated is not None:
        meshes = write_tessellated(fit, folder, name, arguments.tessellated)
        report["tessellated"] = {
            "package": meshes.package,
            "triangles": meshes.triangles,
            "overshoot": meshes.overshoot,
        }
        report["proved"].append("tessellated.overshoot")
    if arguments.spheres is not None:
        with _progress("spheres") as update:
            spheres = write_spheres(fit, folder, name, arguments.spheres, progress=update)
        report["spheres"] = {"counts": spheres.counts, "overshoot": spheres.overshoot}
        report["proved"].append("spheres.overshoot")
    writers = {"mjcf": write_mjcf, "sdf": write_sdf, "usd": write_usd}
    others = [write(fit, folder, name) for kind, write in writers.items() if kind in arguments.format]
    texts[folder / "report.json"] = json.dumps(report, indent=1) + "\n"
    parts = {"pairs": None if pairs is None else pairs.report, "meshes": meshes, "spheres": spheres, "study": study}
    texts[folder / "report.html"] = _page(fit, arguments, parts)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    if meshes is not None:
        others.append(meshes.urdf)
    if spheres is not None:
        others += [spheres.yaml, spheres.urdf]
    return [*texts, *others]


def _name(arguments: argparse.Namespace) -> str:
    return Path(arguments.urdf.rsplit("/", 1)[-1]).stem or "robot"


def _page(found: RobotFit | RobotCheck, arguments: argparse.Namespace, parts: dict[str, Any]) -> str:
    from superovoid.fitting.report_page import report_page
    from superovoid.robot.files import PackageFolders

    with _progress("pictures") as update:
        return report_page(
            found,
            PackageFolders(found.package_directories),
            title=_name(arguments),
            progress=update,
            **parts,
        )
