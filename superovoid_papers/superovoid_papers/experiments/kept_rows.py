# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rows of an experiment that takes hours, kept part by part, so that it can be ended and begun again."""

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
    """Rows that a run before has kept in a folder, or new ones, which are kept there.

    Parameters
    ----------
    folder : Path
    key : sequence
        Words and numbers: all that the rows depend on.
    kind : type
        Class of the rows.
    make : callable
        Makes them.
    """
    text = json.dumps([*key, kind.__name__])
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["key"] == text:
            return [kind(**row) for row in kept["rows"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or of another program
    rows = list(make())
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"key": text, "rows": [asdict(row) for row in rows]}), encoding="utf-8")
    part.replace(file)
    return rows
