# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stored parts of an experiment of hours, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from superovoid.output import CsvRow

Row = TypeVar("Row", bound=CsvRow)


def kept_rows(folder: Path, key: Sequence[object], kind: type[Row], make: Callable[[], Sequence[Row]]) -> list[Row]:
    """Return rows stored in a folder by an earlier run, or compute and store them.

    Parameters
    ----------
    folder : Path
    key : sequence
        Words and numbers that determine the rows.
    kind : type
        Class of the rows.
    make : callable
        Computes the rows.
    """
    text = json.dumps([*key, kind.__name__])
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["key"] == text:
            return [kind(**row) for row in kept["rows"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # missing, or from another program
    rows = list(make())
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"key": text, "rows": [asdict(row) for row in rows]}), encoding="utf-8")
    part.replace(file)
    return rows
