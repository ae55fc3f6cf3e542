# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Atomic writing of files: a file is complete or absent, even if its writer is killed."""

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


def _writer_id() -> str:
    """Return machine and process, to distinguish files of dead writers from files being written."""
    return f"{socket.gethostname()}-{os.getpid()}"


def partial_of(path: Path) -> Path:
    """Return the path of a new temporary file or folder, next to `path`, to be renamed to `path`."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.{_writer_id()}{_ENDING}")


def write_whole(path: Path, data: bytes | memoryview, below: Path | None = None) -> None:
    """Write a file atomically: at any time the path holds the complete file or what was there before.

    The contents are on the disk before the name is. A power cut may undo the renaming, as if nothing had been written.

    Parameters
    ----------
    path : Path
        Its folder is created if it is missing.
    data : bytes
    below : Path, optional
        Folder not to create: if it is missing, it has been moved.

    Raises
    ------
    OSError
        If the file cannot be written: full disk, limit, missing folder. The error names a file; no partial file
        remains.
    """
    with open_atomically(path, below) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Path, below: Path | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file; rename it to `path` when the block ends, or remove it if the block fails.

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
            error.filename = str(path)  # writing through a descriptor does not set it
        raise


def leftovers_below(folder: Path) -> Iterator[Path]:
    """Iterate over the temporary files below a folder whose writers, processes of this machine, have ended."""
    return filter(_is_leftover, folder.rglob(f".*{_ENDING}"))


def leftovers_of(path: Path) -> Iterator[Path]:
    """Iterate over the temporary versions of a file or folder whose writers, processes of this machine, have ended."""
    return filter(_is_leftover, path.parent.glob(f".{glob.escape(path.name)}.*{_ENDING}"))


def remove_leftovers_of(path: Path) -> None:
    """Remove temporary versions of a file whose writers have ended: a killed process cannot clean up itself."""
    for partial in leftovers_of(path):
        if partial.is_file():
            partial.unlink(missing_ok=True)


def _is_leftover(partial: Path) -> bool:
    writer = partial.name.removesuffix(_ENDING).rpartition(".")[2]
    machine, _, process = writer.rpartition("-")
    return machine == socket.gethostname() and process.isdecimal() and not _is_alive(int(process))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
