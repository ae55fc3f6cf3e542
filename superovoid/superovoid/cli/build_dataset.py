# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dataset`: compute the distances of many states of a robot and store them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superovoid.cli import option_values
from superovoid.cli.view import document
from superovoid.output import REPORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from superovoid.dataset import Dataset, FromFile, Grid, Random
    from superovoid.dataset.datasets import Progress

_EXTRAS = ("points", "normals", "gradients")
_STATE_OPTIONS = ("states", "grid", "states_file")
# Options of a new data set; rejected if an existing store is opened.
_RANDOM_OPTIONS = ("seed", "law", "steps", "base_within")
_CREATION_OPTIONS = (
    *_STATE_OPTIONS,
    *_RANDOM_OPTIONS,
    "srdf",
    "meshes",
    "between",
    "also",
    "max_distance",
    "chunk_states",
    "range",
    "base",
)
_LOG_INTERVAL = 30.0  # seconds between progress lines if the output is not a terminal


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "dataset",
        help="compute the distances of many states of a robot; store them as Zarr or Parquet",
        description="Compute the proved distances of all pairs of bodies in many states of a robot, chunk by chunk. "
        "May be killed at any time: --resume computes the missing chunks. A chunk has the same bits for "
        "any number of workers. The exit code is 1 if a verified chunk has different bits or a chunk is damaged.",
        example="superovoid dataset robot.urdf --states 100000 --output robot.zarr",
    )
    command.add_argument("urdf", nargs="?", type=document, metavar="URDF", help="a file, or package://NAME/...")
    command.add_argument(
        "--output", type=_store, metavar="DIR", help="the store: NAME.zarr, or NAME.parquet with --max-distance"
    )
    _add_states(command)
    _add_query(command)
    doing = command.add_argument_group("work and workers (default: all chunks of a new store, in threads)")
    only = doing.add_mutually_exclusive_group()
    only.add_argument("--resume", action="store_true", help="continue an existing store; needs no URDF")
    only.add_argument("--create", action="store_true", help="create the store and print the number of chunks")
    only.add_argument(
        "--chunk",
        type=option_values.count(0),
        metavar="K",
        help="compute only this chunk, counted from 0, as for array jobs",
    )
    only.add_argument(
        "--verify", type=option_values.count(1), metavar="N", help="recompute N random chunks and compare all bits"
    )
    only.add_argument(
        "--check", action="store_true", dest="reads", help="read all chunks and compare them with their digests"
    )
    doing.add_argument(
        "--discard", action="store_true", help="with --check: delete damaged chunks, so that --resume recomputes them"
    )
    workers = doing.add_mutually_exclusive_group()
    workers.add_argument("--threads", type=option_values.count(1, 1024), metavar="N", help="default: one per processor")
    workers.add_argument(
        "--workers",
        type=option_values.count(1, 1024),
        metavar="N",
        help="local processes of dask.distributed",
    )
    workers.add_argument(
        "--scheduler",
        type=_address,
        metavar="ADDRESS",
        help="scheduler of dask.distributed, for example tcp://host:8786; its workers must see the store too",
    )
    option_values.add_reporting(command)
    command.set_defaults(run=run, check=check, extra="dataset")


def _add_states(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("states: one of --states, --grid, --states-file")
    group.add_argument("--states", type=option_values.count(1, 10**14), metavar="N", help="N random states")
    group.add_argument("--seed", type=option_values.seed, metavar="S", help="seed of random states (default: 0)")
    group.add_argument(
        "--law",
        choices=("uniform", "path"),
        help="independent and uniform within the joint limits (default), or on straight lines between such states",
    )
    group.add_argument(
        "--steps", type=option_values.count(1, 1 << 20), metavar="N", help="states per line (default: 64)"
    )
    group.add_argument(
        "--grid",
        type=_grid,
        metavar="N or JOINT=N,...",
        help="all combinations of N positions of every joint, or of the named joints",
    )
    group.add_argument("--states-file", type=option_values.file, metavar="FILE", help=".npy, .npz or .csv")
    group.add_argument(
        "--range",
        type=option_values.assignment_type(_span, "JOINT=LOW:HIGH, for example elbow=-1.5:0"),
        action=option_values.AddAssignment,
        metavar="JOINT=LOW:HIGH",
        help="replaces the joint's limits, rad or m; a single number fixes the joint; may be repeated",
    )
    group.add_argument(
        "--base",
        type=option_values.assignment_type(_pose, "LINK=X,Y,Z or LINK=X,Y,Z,QX,QY,QZ,QW, for example palm=0,0.2,0"),
        action=option_values.AddAssignment,
        metavar="LINK=X,Y,Z[,QX,QY,QZ,QW]",
        help="pose of a link on a floating joint, m; may be repeated",
    )
    group.add_argument(
        "--base-within",
        type=option_values.assignment_type(_box, "LINK=X:X,Y:Y,Z:Z, for example palm=-0.1:0.1,0:0.2,0:0"),
        action=option_values.AddAssignment,
        metavar="LINK=X:X,Y:Y,Z:Z",
        help="box of random positions of such a link, with random rotations, m; may be repeated",
    )


def _add_query(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("robot and pairs")
    group.add_argument("--srdf", type=document, metavar="SRDF", help="groups and disabled pairs")
    option_values.add_packages(group)
    option_values.add_meshes(group, default=None)
    group.add_argument(
        "--between",
        type=option_values.names,
        nargs=2,
        metavar="NAMES",
        help="only pairs between these links or groups (A,B C)",
    )
    group.add_argument(
        "--also", type=option_values.some_of(_EXTRAS), metavar="NAME,...", help=f"store some of {', '.join(_EXTRAS)}"
    )
    group.add_argument(
        "--max-distance",
        type=option_values.number(above=False, most=1e4, unit="metres"),
        metavar="METRES",
        help="store only pairs within this distance, as rows of Parquet",
    )
    group.add_argument(
        "--chunk-states",
        type=option_values.count(1, 1 << 24),
        metavar="N",
        help="states per chunk (default: a few seconds of work)",
    )


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with the combination of options; empty if nothing is."""
    ways, at_random, making = (
        [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) is not None]
        for names in (_STATE_OPTIONS, _RANDOM_OPTIONS, _CREATION_OPTIONS)
    )
    reads = arguments.verify is not None or arguments.reads
    if arguments.output is None:
        return "argument --output: missing"
    if arguments.discard and not arguments.reads:
        return "argument --discard: needs --check"
    if arguments.urdf is None:
        if making:
            return f"argument {making[0]}: needs a URDF"
        opened = reads or arguments.resume or arguments.chunk is not None
        return "" if opened else "a URDF is missing (for an existing store: --resume, --chunk, --verify or --check)"
    if reads:
        return "argument URDF: --verify and --check use an existing store; omit the URDF"
    if len(ways) != 1:
        return "states: exactly one of --states, --grid and --states-file is required"
    if at_random and ways != ["--states"]:
        return f"argument {at_random[0]}: needs --states"
    if arguments.range and ways == ["--states-file"]:
        return "argument --range: not allowed with --states-file, which contains all joint positions"
    for link in arguments.base_within or ():
        if link in (arguments.base or ()):
            return f"argument --base-within: {option_values.quote(link)}: not allowed with argument --base"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Create, continue or check a data set."""
    found = _open_or_create(arguments)
    if arguments.verify is not None:
        return _verify(found, arguments.verify)
    if arguments.reads:
        return _check(found, discard=arguments.discard)
    if arguments.create:
        REPORT.verdict(f"{found.path}: created, {_contents(found)}", chunks=found.chunks)
        return 0
    return _compute(found, arguments)


def _open_or_create(arguments: argparse.Namespace) -> Dataset:
    """Create or open the requested data set."""
    from superovoid import dataset

    if arguments.urdf is None:
        return dataset.open(arguments.output, package_directories=arguments.package)
    going_on = arguments.resume or arguments.chunk is not None
    if not going_on and arguments.output.is_dir() and any(arguments.output.iterdir()):
        there = dataset.open(arguments.output)  # raises if the folder is not a store
        raise dataset.DatasetError(f"{there.path}: exists already; use --resume to continue it")
    return dataset.create(
        arguments.output,
        arguments.urdf,
        _states(arguments),
        srdf=arguments.srdf,
        between=arguments.between and tuple(arguments.between),
        extras=arguments.also or (),
        max_distance=arguments.max_distance,
        chunk_states=arguments.chunk_states,
        package_directories=arguments.package,
        meshes=arguments.meshes or "hull",
    )


def _states(arguments: argparse.Namespace) -> Random | Grid | FromFile:
    from superovoid import dataset

    ranges, bases = arguments.range or {}, {**(arguments.base or {}), **(arguments.base_within or {})}
    if arguments.states_file is not None:
        return dataset.FromFile(arguments.states_file, bases=bases)
    if arguments.grid is not None:
        return dataset.Grid(arguments.grid, ranges=ranges, bases=bases)
    how = {name: getattr(arguments, name) for name in ("seed", "law", "steps") if getattr(arguments, name) is not None}
    return dataset.Random(arguments.states, ranges=ranges, bases=bases, **how)


def _contents(found: Dataset) -> str:
    return (
        f"{found.states} states of {len(found.pairs)} pairs in {found.chunks} chunks of "
        f"{found.manifest['chunks']['states']} states"
    )


def _compute(found: Dataset, arguments: argparse.Namespace) -> int:
    from superovoid.output import progress

    found.remove_left_overs()
    chunks = None if arguments.chunk is None else [arguments.chunk]
    by = {"threads": arguments.threads, "workers": arguments.workers, "scheduler": arguments.scheduler}
    with progress() as bar:
        task = bar.add_task("chunks", total=found.chunks, completed=int(found.done.sum()))
        log = _log_progress() if bar.disable else None

        def update(now: Progress) -> None:
            bar.update(task, completed=now.done, description=f"chunks, {now.rate:.3g} answers/s")
            if log is not None:
                log(now)

        did = found.run(chunks, progress=update, on_dashboard=lambda address: _log(f"dashboard: {address}"), **by)
    missing = int((~found.done).sum())
    state = f"{missing} of {found.chunks} chunks are missing" if missing else "complete"
    REPORT.verdict(
        f"{found.path}: {state}; computed {len(did.computed)} of {found.chunks} chunks, "
        f"{did.answers} answers in {did.seconds:.2f} s",
        missing=missing,
        chunks=found.chunks,
        computed=len(did.computed),
        answers=did.answers,
        seconds=did.seconds,
    )
    REPORT.detail(_contents(found))
    if did.answers:
        REPORT.detail(f"{did.answers / did.seconds:.3g} answers/s")
    return 0


def _log(words: str) -> None:
    if not REPORT.quiet:
        print(words, file=sys.stderr, flush=True)


def _log_progress() -> Callable[[Progress], None]:
    """Return a function that prints a line of progress every `_LOG_INTERVAL` seconds, for logs."""
    last = 0.0

    def update(now: Progress) -> None:
        nonlocal last
        if now.seconds - last >= _LOG_INTERVAL:
            last = now.seconds
            _log(f"{now.done} of {now.chunks} chunks, {now.rate:.3g} answers/s, {now.remaining:.0f} s left")

    return update


def _verify(found: Dataset, count: int) -> int:
    looked = found.verify(count)
    wrong = {chunk: words for chunk, words in looked.items() if words}
    REPORT.verdict(
        f"{found.path}: {len(looked)} of {found.chunks} chunks recomputed, {len(wrong)} with different bits",
        recomputed=len(looked),
        different=wrong,
    )
    for chunk, words in wrong.items():
        print(f"chunk {chunk}: {words}", file=sys.stderr)
    return int(bool(wrong) or not looked)


def _check(found: Dataset, *, discard: bool) -> int:
    damaged = found.check()
    if discard:
        for chunk in damaged:
            found.discard(chunk)
    there = int(found.done.sum()) + (len(damaged) if discard else 0)
    REPORT.verdict(
        f"{found.path}: {there} of {found.chunks} chunks read, {len(damaged)} damaged{' and deleted' * discard}",
        read=there,
        damaged=damaged,
    )
    for words in damaged.values():
        print(words, file=sys.stderr)
    return int(bool(damaged))


# --- values ---


def _store(text: str) -> Path:
    """Read a folder that exists or can be created; an existing one may be read-only."""
    return Path(text) if os.path.isdir(text) else option_values.output_folder(text)


def _is_address(text: str) -> bool:
    host = r"[A-Za-z][\w.-]{0,254}|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]{2,45}\]"
    found = re.fullmatch(rf"(?:(?:tcp|tls)://)?(?:{host}):(\d{{1,5}})", text)
    return found is not None and 0 < int(found[1]) < 65536


_address = option_values.option_type("must be HOST:PORT, for example tcp://10.0.0.1:8786", str, _is_address)


def _grid(text: str) -> int | dict[str, int]:
    """Read N or JOINT=N,JOINT=N."""
    points = option_values.count(1, 10**9)
    if "=" not in text:
        return points(text)
    return option_values.assignments_type(points, "NAME=N, for example joint1=20")(text)


def _span(text: str) -> tuple[float, float]:
    low, is_span, high = text.partition(":")
    return float(low), float(high if is_span else low)


def _box(text: str) -> tuple[tuple[float, float], ...]:
    x, y, z = map(_span, text.split(","))
    return x, y, z


def _pose(text: str) -> Any:
    import numpy as np
    from scipy.spatial.transform import Rotation

    x, y, z, *quaternion = map(float, text.split(","))
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    if quaternion:
        pose[:3, :3] = Rotation.from_quat(quaternion).as_matrix()
    return pose
