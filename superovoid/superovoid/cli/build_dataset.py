# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid dataset`: distances of many states of a robot in a store."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superovoid.cli import option_values
from superovoid.cli.view import document

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from superovoid.dataset import Dataset, FromFile, Grid, Random
    from superovoid.dataset.datasets import Progress, Run

_EXTRAS = ("points", "normals", "gradients")
_OF_STATES = ("states", "grid", "states_file")
# Options of a new data set; none is taken for a store that is only opened.
_AT_RANDOM = ("seed", "law", "steps", "base_within")
_MAKING = (
    *_OF_STATES,
    *_AT_RANDOM,
    "srdf",
    "meshes",
    "between",
    "also",
    "max_distance",
    "chunk_states",
    "range",
    "base",
)
_EVERY = 30.0  # seconds between lines where there is no terminal


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "dataset",
        help="distances of many states of a robot in a store (Zarr, or Parquet within --max-distance), resumable",
        description="Compute the proved distances of all pairs of bodies in many states of a robot, chunk by chunk. "
        "May be killed at any time: --resume goes on with the chunks that are missing. The same chunk has the same "
        "bits whoever computes it. Exit code 1 where something failed, or a chunk that was verified has other bits.",
    )
    command.add_argument("urdf", nargs="?", type=document, metavar="URDF", help="a file, or package://NAME/...")
    command.add_argument(
        "--output", type=_store, metavar="DIR", help="the store: NAME.zarr, or NAME.parquet with --max-distance"
    )
    _add_states(command)
    _add_question(command)
    doing = command.add_argument_group("what is done, and by whom (default: all chunks of a new store, by threads)")
    only = doing.add_mutually_exclusive_group()
    only.add_argument("--resume", action="store_true", help="go on with a store that is there; a URDF is not needed")
    only.add_argument("--create", action="store_true", help="lay the store out and say how many chunks there are")
    only.add_argument(
        "--chunk",
        type=option_values.count(0),
        metavar="K",
        help="only this one, counted from 0, as for jobs of an array",
    )
    only.add_argument(
        "--verify", type=option_values.count(1), metavar="N", help="compute N random chunks again and compare all bits"
    )
    only.add_argument(
        "--check", action="store_true", dest="reads", help="read all chunks and compare them with their digests"
    )
    doing.add_argument(
        "--discard", action="store_true", help="with --check: take damaged chunks out, so that --resume computes them"
    )
    workers = doing.add_mutually_exclusive_group()
    workers.add_argument("--threads", type=option_values.count(1, 1024), metavar="N", help="default: one a processor")
    workers.add_argument(
        "--workers",
        type=option_values.count(1, 1024),
        metavar="N",
        help="processes of dask.distributed on this machine",
    )
    workers.add_argument(
        "--scheduler",
        type=_address,
        metavar="ADDRESS",
        help="of dask.distributed, as tcp://host:8786; its workers see the store too",
    )
    command.set_defaults(run=run, check=check, extra="dataset")


def _add_states(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("states: one of --states, --grid, --states-file")
    group.add_argument("--states", type=option_values.count(1, 10**14), metavar="N", help="so many at random")
    group.add_argument("--seed", type=option_values.seed, metavar="S", help="of these (default: 0)")
    group.add_argument(
        "--law",
        choices=("uniform", "path"),
        help="each for itself, even in the joints' limits (default), or on straight lines between such states",
    )
    group.add_argument(
        "--steps", type=option_values.count(1, 1 << 20), metavar="N", help="states of such a line (default: 64)"
    )
    group.add_argument(
        "--grid",
        type=_grid,
        metavar="N or JOINT=N,...",
        help="all combinations of N positions of each joint, or of some",
    )
    group.add_argument("--states-file", type=option_values.file, metavar="FILE", help=".npy, .npz or .csv")
    group.add_argument(
        "--range",
        type=option_values.named(_span, "JOINT=LOW:HIGH, for example elbow=-1.5:0"),
        action="append",
        metavar="JOINT=LOW:HIGH",
        help="in place of the joint's limits, rad or m; one number holds it still; may be repeated",
    )
    group.add_argument(
        "--base",
        type=option_values.named(_pose, "LINK=X,Y,Z or LINK=X,Y,Z,QX,QY,QZ,QW, for example palm=0,0.2,0"),
        action="append",
        metavar="LINK=X,Y,Z[,QX,QY,QZ,QW]",
        help="where a link on a floating joint is, m; may be repeated",
    )
    group.add_argument(
        "--base-within",
        type=option_values.named(_box, "LINK=X:X,Y:Y,Z:Z, for example palm=-0.1:0.1,0:0.2,0:0"),
        action="append",
        metavar="LINK=X:X,Y:Y,Z:Z",
        help="the box that it is in at random, turned any way, m; may be repeated",
    )


def _add_question(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("robot and pairs")
    group.add_argument("--srdf", type=document, metavar="SRDF", help="groups and disabled pairs")
    option_values.add_packages(group)
    group.add_argument(
        "--meshes",
        choices=("hull", "triangles", "shells", "ignore"),
        help="of collision elements (default: hull)",
    )
    group.add_argument(
        "--between",
        type=option_values.names,
        nargs=2,
        metavar="NAMES",
        help="only pairs between these links or groups (A,B C)",
    )
    group.add_argument(
        "--also", type=option_values.some_of(_EXTRAS), metavar="NAME,...", help=f"some of {', '.join(_EXTRAS)}"
    )
    group.add_argument(
        "--max-distance",
        type=option_values.number(above=False, most=1e4, unit="metres"),
        metavar="METRES",
        help="rows of pairs that are no farther, in Parquet",
    )
    group.add_argument(
        "--chunk-states",
        type=option_values.count(1, 1 << 24),
        metavar="N",
        help="states of a chunk (default: so many that it takes seconds)",
    )


def check(arguments: argparse.Namespace) -> str:
    """Return what is wrong with options taken together; empty: nothing."""
    ways, at_random, making = (
        [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) is not None]
        for names in (_OF_STATES, _AT_RANDOM, _MAKING)
    )
    reads = arguments.verify is not None or arguments.reads
    if arguments.output is None:
        return "argument --output: is missing"
    if arguments.discard and not arguments.reads:
        return "argument --discard: is for --check"
    if arguments.urdf is None:
        if making:
            return f"argument {making[0]}: is about a URDF that is given too"
        opened = reads or arguments.resume or arguments.chunk is not None
        return "" if opened else "a URDF is missing (a store that is there: --resume, --chunk, --verify or --check)"
    if reads:
        return "argument URDF: --verify and --check take the store as it is; leave the URDF out"
    if len(ways) != 1:
        return "states: one of --states, --grid and --states-file is needed"
    if at_random and ways != ["--states"]:
        return f"argument {at_random[0]}: is for --states"
    if arguments.range and ways == ["--states-file"]:
        return "argument --range: a file says where joints are"
    return ""


def run(arguments: argparse.Namespace) -> int:
    """Make, continue or judge a data set."""
    from rich.console import Console

    from superovoid.dataset import DatasetError
    from superovoid.robot.errors import RobotDescriptionError
    from superovoid.values.checks import is_refusal

    console = Console()
    try:
        found = _found(arguments)
        if arguments.verify is not None:
            return _verify(found, arguments.verify)
        if arguments.reads:
            return _check(found, discard=arguments.discard)
        _say(found)
        if arguments.create:
            return 0
        return _compute(found, arguments, console)
    except (DatasetError, RobotDescriptionError) as error:
        return _failed(str(error))
    except (ValueError, IndexError) as error:
        if not is_refusal(error):
            raise
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{error.filename or arguments.output}: {error.strerror or error}")


def _failed(words: str) -> int:
    print(f"superovoid dataset: {words}", file=sys.stderr)
    return 1


def _found(arguments: argparse.Namespace) -> Dataset:
    """The data set that is asked for, made or opened."""
    from superovoid import dataset

    packages = dict(arguments.package)
    if arguments.urdf is None:
        return dataset.open(arguments.output, package_directories=packages)
    going_on = arguments.resume or arguments.chunk is not None
    if not going_on and arguments.output.is_dir() and any(arguments.output.iterdir()):
        there = dataset.open(arguments.output)  # something else is refused in words of its own
        raise dataset.DatasetError(f"{there.path}: is there already: --resume goes on with it")
    return dataset.create(
        arguments.output,
        arguments.urdf,
        _states(arguments),
        srdf=arguments.srdf,
        between=arguments.between and tuple(arguments.between),
        extras=arguments.also or (),
        max_distance=arguments.max_distance,
        chunk_states=arguments.chunk_states,
        package_directories=packages,
        meshes=arguments.meshes or "hull",
    )


def _states(arguments: argparse.Namespace) -> Random | Grid | FromFile:
    from superovoid import dataset

    ranges, bases = dict(arguments.range or ()), {**dict(arguments.base or ()), **dict(arguments.base_within or ())}
    if arguments.states_file is not None:
        return dataset.FromFile(arguments.states_file, bases=bases)
    if arguments.grid is not None:
        return dataset.Grid(arguments.grid, ranges=ranges, bases=bases)
    how = {name: getattr(arguments, name) for name in ("seed", "law", "steps") if getattr(arguments, name) is not None}
    return dataset.Random(arguments.states, ranges=ranges, bases=bases, **how)


def _say(found: Dataset) -> None:
    print(
        f"{found.path}: {found.states} states of {len(found.pairs)} pairs in {found.chunks} chunks of "
        f"{found.manifest['chunks']['states']} states, {int(found.done.sum())} there"
    )


def _compute(found: Dataset, arguments: argparse.Namespace, console: Console) -> int:
    found.remove_left_overs()
    chunks = None if arguments.chunk is None else [arguments.chunk]
    by = {"threads": arguments.threads, "workers": arguments.workers, "scheduler": arguments.scheduler}

    def told(address: str) -> None:
        console.print(f"dashboard: {address}", markup=False, soft_wrap=True)

    if console.is_terminal and chunks is None:
        from superovoid.output import progress

        with progress(console) as bar:
            task = bar.add_task("chunks", total=found.chunks, completed=int(found.done.sum()))

            def tell(now: Progress) -> None:
                bar.update(task, completed=now.done, description=f"chunks, {now.rate:.3g} answers/s")

            did = found.run(progress=tell, told=told, **by)
    else:
        did = found.run(chunks, progress=_lines(), told=told, **by)
    _tell(found, did)
    return 0


def _lines() -> Callable[[Progress], None]:
    """A line of progress now and then, for logs."""
    last = 0.0

    def tell(now: Progress) -> None:
        nonlocal last
        if now.seconds - last >= _EVERY:
            last = now.seconds
            print(f"{now.done} of {now.chunks} chunks, {now.rate:.3g} answers/s, {_left(now)}", flush=True)

    return tell


def _left(now: Progress) -> str:
    return f"{now.remaining:.0f} s left"


def _tell(found: Dataset, did: Run) -> None:
    rate = f", {did.answers / did.seconds:.3g} answers/s" if did.answers else ""
    missing = int((~found.done).sum())
    print(f"computed {len(did.computed)} chunks, {did.answers} answers in {did.seconds:.2f} s{rate}")
    print(f"{found.path}: {'complete' if not missing else f'{missing} of {found.chunks} chunks are missing'}")


def _verify(found: Dataset, count: int) -> int:
    looked = found.verify(count)
    wrong = {chunk: words for chunk, words in looked.items() if words}
    for chunk, words in wrong.items():
        print(f"chunk {chunk}: {words}", file=sys.stderr)
    print(f"{found.path}: {len(looked)} of {found.chunks} chunks computed again, {len(wrong)} with other bits")
    return int(bool(wrong) or not looked)


def _check(found: Dataset, *, discard: bool) -> int:
    damaged = found.check()
    for chunk, words in damaged.items():
        print(words, file=sys.stderr)
        if discard:
            found.discard(chunk)
    there = int(found.done.sum()) + (len(damaged) if discard else 0)
    print(f"{found.path}: {there} of {found.chunks} chunks read, {len(damaged)} damaged{' and taken out' * discard}")
    return int(bool(damaged))


# --- values ---


def _store(text: str) -> Path:
    """Read a folder that exists, or that can be made; one that is only read need not be written to."""
    return Path(text) if os.path.isdir(text) else option_values.output_folder(text)


def _is_address(text: str) -> bool:
    host = r"[A-Za-z][\w.-]{0,254}|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]{2,45}\]"
    found = re.fullmatch(rf"(?:(?:tcp|tls)://)?(?:{host}):(\d{{1,5}})", text)
    return found is not None and 0 < int(found[1]) < 65536


_address = option_values.typed("must be HOST:PORT, for example tcp://10.0.0.1:8786", str, _is_address)


def _grid(text: str) -> int | dict[str, int]:
    """Read N or JOINT=N,JOINT=N."""
    points = option_values.count(1, 10**9)
    if "=" not in text:
        return points(text)
    return dict(map(option_values.named(points, "NAME=N, for example joint1=20"), option_values.names(text)))


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
