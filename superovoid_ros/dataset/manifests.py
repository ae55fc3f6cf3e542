# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The manifest of a data set: all that it takes to compute any of its chunks again, and what its bits depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from superovoid_ros import __version__
from superovoid_ros.dataset.arithmetic import arithmetic, differences
from superovoid_ros.dataset.dataset_errors import DatasetError

FORMAT = 1
_WORD = "superovoid data set"


def seal(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Make a manifest of its parts: with its format, version, arithmetic and a digest of all.

    Parts: ``robot``, ``states``, ``question``, ``chunks``, which say what is computed, and ``where``: files of these.
    """
    manifest = {"what": _WORD, "format": FORMAT, "superovoid_ros": __version__, **parts, "arithmetic": arithmetic()}
    return {**manifest, "sha256": _digest(manifest)}


def _digest(manifest: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def checked(found: Any, where: str) -> dict[str, Any]:
    """A manifest that was read.

    Raises
    ------
    DatasetError
        If it is none, of another format, or was changed.
    """
    if not isinstance(found, dict) or found.get("what") != _WORD:
        raise DatasetError(f"{where}: is no data set of superovoid_ros: it has no manifest of one")
    if found.get("format") != FORMAT:
        raise DatasetError(
            f"{where}: its format is {found.get('format')!r}, written by superovoid_ros "
            f"{found.get('superovoid_ros')!r}; this version reads format {FORMAT}"
        )
    if found.get("sha256") != _digest(found):
        raise DatasetError(f"{where}: its manifest is damaged: its contents do not have the digest that it names")
    return found


def refuse_other(stored: Mapping[str, Any], asked: Mapping[str, Any], where: str) -> None:
    """Raise `DatasetError` where a store holds another data set than the one that is asked for."""
    for part in ("question", "states", "chunks", "robot"):
        if stored[part] != asked[part]:
            raise DatasetError(f"{where}: holds another data set: {_first_difference(part, stored[part], asked[part])}")
    refuse_other_arithmetic(stored, where)


def refuse_other_arithmetic(stored: Mapping[str, Any], where: str) -> None:
    """Raise `DatasetError` where chunks computed here might have other bits than those that are there."""
    words = ""
    if stored["superovoid_ros"] != __version__:
        words = f"superovoid_ros {stored['superovoid_ros']} there, {__version__} here; "
    words += differences(arithmetic(), stored["arithmetic"])
    if words:
        raise DatasetError(
            f"{where}: chunks computed here might have other last bits than those that are there: {words}. Use the "
            "same software and kind of processor, or begin a data set that all machines can share (docs/datasets.md)"
        )


def _first_difference(name: str, stored: Any, asked: Any) -> str:
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
        for key in dict.fromkeys([*stored, *asked]):
            if stored.get(key) != asked.get(key):
                return _first_difference(f"{name}: {key}", stored.get(key), asked.get(key))
    return f"{name}: {_short(stored)} there, {_short(asked)} asked for"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
