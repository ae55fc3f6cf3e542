# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files that are there whole or not at all, whoever is killed while writing them."""

from __future__ import annotations

import glob
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_ENDING = ".partial"


def _mark() -> str:
    """Who writes: machine and process, so that what a dead one left can be told from what a living one writes."""
    return f"{socket.gethostname()}-{os.getpid()}"


def partial_of(path: Path) -> Path:
    """A name beside a file, for what is to become that file."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.{_mark()}{_ENDING}")


def write_whole(path: Path, data: bytes | memoryview, below: Path | None = None) -> None:
    """Write a file so that at any moment there is all of it or what was there before.

    Its contents are on the disk before its name is. A power cut may take the name again, as if it had not been written.

    Parameters
    ----------
    path : Path
        Its folder is made where it is missing.
    data : bytes
    below : Path, optional
        A folder that is not made where it is missing: somebody has moved it.

    Raises
    ------
    OSError
        If it cannot be written: a full disk, a limit, no folder. It names a file, and nothing is left of that.
    """
    with becoming(path, below) as file:
        file.write(data)


@contextmanager
def becoming(path: Path, below: Path | None = None) -> Iterator[BinaryIO]:
    """A file to be written that gets its name when the block ends, and is removed where that fails.

    Raises
    ------
    OSError
        As `write_whole`.
    """
    if below is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif path.parent != below:
        path.parent.mkdir(exist_ok=True)
    partial = partial_of(path)
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)  # what writes does not know the name
        raise


def left_over(folder: Path) -> Iterator[Path]:
    """Partial files below a folder whose writers, processes of this machine, are gone."""
    return filter(_is_left, folder.rglob(f".*{_ENDING}"))


def left_over_beside(path: Path) -> Iterator[Path]:
    """What was to become a file or folder, of writers, processes of this machine, that are gone."""
    return filter(_is_left, path.parent.glob(f".{glob.escape(path.name)}.*{_ENDING}"))


def remove_left_overs_of(path: Path) -> None:
    """Remove what was to become a file, of writers that are gone: one that is killed cannot do so itself."""
    for partial in left_over_beside(path):
        if partial.is_file():
            partial.unlink(missing_ok=True)


def _is_left(partial: Path) -> bool:
    mark = partial.name.removesuffix(_ENDING).rpartition(".")[2]
    machine, _, process = mark.rpartition("-")
    return machine == socket.gethostname() and process.isdecimal() and not _is_alive(int(process))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
