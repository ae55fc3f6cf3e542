# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The manifest of a data set: everything needed to recompute any chunk bit for bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from superovoid import __version__
from superovoid.dataset.arithmetic import arithmetic, differences
from superovoid.dataset.errors import DatasetError

FORMAT = 1
MOST_CHUNKS = 10**8
"""Largest number of chunks of a data set: a list of them is kept in memory."""
_WORD = "superovoid data set"


def seal(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Build a manifest from its parts: add format, version, arithmetic and a digest.

    The parts ``robot``, ``states``, ``question`` and ``chunks`` define what is computed; ``where`` lists their files.
    """
    manifest = {"what": _WORD, "format": FORMAT, "superovoid": __version__, **parts, "arithmetic": arithmetic()}
    return {**manifest, "sha256": _digest(manifest)}


def _digest(manifest: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check_manifest(found: Any, where: str) -> dict[str, Any]:
    """Check a manifest read from a store, and return it.

    Raises
    ------
    DatasetError
        If it is not a manifest, has another format, or was changed.
    """
    if not isinstance(found, dict) or found.get("what") != _WORD:
        raise DatasetError(f"{where}: is not a superovoid data set: its manifest is missing")
    if found.get("format") != FORMAT:
        raise DatasetError(
            f"{where}: format {found.get('format')!r}, written by superovoid {found.get('superovoid')!r}; "
            f"this version reads format {FORMAT}"
        )
    if found.get("sha256") != _digest(found):
        raise DatasetError(f"{where}: the manifest is damaged: its contents do not match its SHA-256 digest")
    wrong = _form_error(found, _FORM, "manifest") or _contradiction(found)
    if wrong:
        raise DatasetError(f"{where}: {wrong}")
    return found


class _LeastInteger(int):
    """Smallest allowed value of an integer."""


# Schema of the manifest: a type, a tuple of alternatives, a mapping with at least these keys, or a list whose elements
# all have one form.
_NAMES = [str]
_FORM: dict[str, Any] = {
    "superovoid": str,
    "arithmetic": {},
    "robot": {"urdf": str, "srdf": (str, None), "meshes": str, "representation": str, "name": str, "fingerprint": str},
    "states": {"count": _LeastInteger(1)},
    "question": {
        "between": ([_NAMES], None),
        "extras": _NAMES,
        "max_distance": (str, None),
        "bodies": _NAMES,
        "pairs": [[_LeastInteger(0)]],
        "joints": _NAMES,
        "bases": _NAMES,
        "columns": [
            {"name": str, "tail": [_LeastInteger(0)], "kind": str, "fill": str, "per pair": bool, "unit": str},
        ],
    },
    "chunks": {"states": _LeastInteger(1), "count": _LeastInteger(1)},
    "where": {"packages": {}, "states file": (str, None)},
}


def _form_error(value: Any, form: Any, what: str) -> str:
    """Describe the first part that does not have its form; return an empty string if there is none."""
    if isinstance(form, tuple):
        found = [_form_error(value, each, what) for each in form]
        return "" if "" in found else found[0]
    if isinstance(form, list):
        is_one = isinstance(value, list)
        inner = (_form_error(each, form[0], f"{what}, {number}") for number, each in enumerate(value if is_one else ()))
    elif isinstance(form, dict):
        is_one = isinstance(value, dict)
        inner = (
            _form_error(value[name], each, f"{what}, {name}") if name in value else f"{what} has no {name!r}"
            for name, each in form.items()
        )
    elif isinstance(form, _LeastInteger):
        is_one = type(value) is int and form <= value < 2**63
        return "" if is_one else f"{what}: must be an integer of at least {int(form)}, found {_shorten(value)}"
    else:
        is_one = value is None if form is None else type(value) is form
        return "" if is_one else f"{what}: found {_shorten(value)}"
    return next(filter(None, inner), "") if is_one else f"{what}: found {_shorten(value)}"


def _contradiction(found: Mapping[str, Any]) -> str:
    """Describe the first parts that contradict each other; return an empty string if there are none."""
    question, states, chunks = found["question"], found["states"]["count"], found["chunks"]
    if chunks["count"] != -(-states // chunks["states"]) or chunks["count"] > MOST_CHUNKS:
        return f"manifest, chunks: found {chunks['count']} chunks of {chunks['states']} states for {states} states"
    bodies = len(question["bodies"])
    if any(len(pair) != 2 or max(pair) >= bodies for pair in question["pairs"]):
        return f"manifest, question, pairs: must be two of {bodies} bodies each"
    if question["between"] is not None and len(question["between"]) != 2:
        return "manifest, question, between: must be two lists of names"
    for column in question["columns"]:
        if not column["name"].isidentifier() or column["kind"] not in ("float64", "uint8", "int32", "int64"):
            return f"manifest, question, columns: found {_shorten(column)}"
        try:
            float(column["fill"])
        except ValueError:
            return f"manifest, question, columns: found {_shorten(column)}"
    return ""


def refuse_other(stored: Mapping[str, Any], asked: Mapping[str, Any], where: str) -> None:
    """Raise `DatasetError` if a store holds another data set than the requested one."""
    for part in ("question", "states", "chunks", "robot"):
        if stored[part] != asked[part]:
            raise DatasetError(f"{where}: holds another data set: {_first_difference(part, stored[part], asked[part])}")
    refuse_other_arithmetic(stored, where)


def refuse_other_arithmetic(stored: Mapping[str, Any], where: str) -> None:
    """Raise `DatasetError` if chunks computed here might have other bits than those in the store."""
    words = ""
    if stored["superovoid"] != __version__:
        words = f"superovoid {stored['superovoid']} there, {__version__} here; "
    words += differences(arithmetic(), stored["arithmetic"])
    if words:
        raise DatasetError(
            f"{where}: chunks computed here might differ in the last bits from those in the store: {words}. Use the "
            "same software and kind of processor, or create a data set that all machines can share "
            "(docs/how_to/many_states.md)"
        )


def _first_difference(name: str, stored: Any, asked: Any) -> str:
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
        for key in dict.fromkeys([*stored, *asked]):
            if stored.get(key) != asked.get(key):
                return _first_difference(f"{name}: {key}", stored.get(key), asked.get(key))
    return f"{name}: {_shorten(stored)} there, {_shorten(asked)} requested"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
