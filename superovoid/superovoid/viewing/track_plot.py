# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Draw the minimum distance along a recording as SVG, both for served pages and for files."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from superovoid.viewing.meanings import COLOURS
from superovoid.viewing.palette import GREEN, RED
from superovoid.viewing.recording import Recording, Track

FloatArray = NDArray[np.float64]

WIDTH, HEIGHT = 420.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 8.0, 20.0, 44.0
"""Margins around the curve."""
STRIP = 10.0
"""Height of the strip with the meanings."""
_COLUMNS = 360
"""Maximum number of columns; if there are more moments, several share a column, which shows the worst."""
_CURVE, _RECORDED = "#000000", GREEN


def x_coordinates(recording: Recording) -> FloatArray:
    """Return the x coordinate of each moment in the drawing."""
    places = recording.places
    span = places[-1] - places[0]
    share = (places - places[0]) / span if span > 0.0 else np.full(len(places), 0.5)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def drawing(recording: Recording, track: Track, cursor: int | None = None, near: float = 0.0) -> str:
    """Draw the proved minimum distance, a strip of its meanings, and a line at one moment.

    If the distance is unknown, the curve has a gap, and the strip shows the colour of unknown.

    Parameters
    ----------
    recording : Recording
    track : Track
        Track of the recording.
    cursor : int, optional
        Index of the moment with the line.
    near : float
        Near distance, m.
    """
    groups = _groups(len(track.places))
    across = x_coordinates(recording)
    x = across[[int(group[0]) for group in groups]]
    ends = np.append(x[1:], WIDTH - RIGHT)
    curves = [np.array([_minimum(values[group]) for group in groups]) for values in (track.lower, track.upper)]
    others = None if recording.recorded is None else np.asarray(recording.recorded, dtype=float)
    shown = curves if others is None else [*curves, np.array([_minimum(others[group]) for group in groups])]
    low, high = _range(shown, near)
    height = HEIGHT - TOP - BOTTOM

    def y_of(metres: float) -> float:
        return TOP + height * (high - metres) / (high - low)

    parts = [_text(LEFT, 13, "minimum distance, mm", anchor="start", bold=True)]
    for tick in _ticks(low, high):
        y = y_of(tick)
        stroke = "#333" if tick == 0.0 else "#ddd"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.2f}" y2="{y:.2f}" stroke="{stroke}"/>')
        parts.append(_text(LEFT - 4, y + 3.5, f"{1e3 * tick:z.6g}", anchor="end"))
    if low < near < high and near > 0.0:
        y = y_of(near)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.2f}" y2="{y:.2f}" stroke="#999" stroke-dasharray="4 3"/>'
        )
    for values, colour, dash in _lines(curves, shown):
        parts += _polylines(x, values, y_of, colour, dash)
    top = HEIGHT - BOTTOM + 3.0
    worst = [int(track.meaning[group].max()) for group in groups]
    parts += _strip(x, ends, worst, top)
    places, unit = track.places, f", {recording.unit}" if recording.unit else ""
    parts.append(_text(LEFT, HEIGHT - 16, f"{places[0]:.6g}", anchor="start"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 16, f"{places[-1]:.6g}", anchor="end"))
    legend = f"{recording.axis}{unit}" + ("" if others is None else "; green, dashed: recorded")
    parts.append(_text(0.5 * (LEFT + WIDTH - RIGHT), HEIGHT - 4, legend, anchor="middle"))
    if cursor is not None:
        parts.append(_cursor(across[cursor]))
    return _svg("".join(parts), "display: block; background: white")


def cursor_over(recording: Recording, index: int) -> str:
    """Return the line at one moment alone, laid over the drawing that follows it without taking space."""
    svg = _svg(_cursor(x_coordinates(recording)[index]), "position: absolute; pointer-events: none")
    return f'<div style="position: relative; z-index: 1; height: 0">{svg}</div>'


def _cursor(at: float) -> str:
    return (
        f'<line class="cursor" x1="{at:.2f}" x2="{at:.2f}" y1="{TOP}" y2="{HEIGHT - BOTTOM + 3.0 + STRIP}" '
        f'stroke="{RED}" stroke-width="2"/>'
    )


def _svg(parts: str, style: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" style="width: 100%; {style}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg">{parts}</svg>'
    )


def _groups(count: int) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(count), min(count, _COLUMNS))


def _minimum(values: FloatArray) -> float:
    """Return the minimum; NaN if a value is unknown, since it could be smaller."""
    return float(values.min()) if len(values) else math.nan


def _range(curves: Sequence[FloatArray], near: float) -> tuple[float, float]:
    """Return the ends of the distance axis, which includes all finite values and 0."""
    values = np.concatenate([*curves, [0.0]])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    if high <= low:
        high = low + (2.0 * near or 1e-3)
    room = 0.05 * (high - low)
    return (low - room if low < 0.0 else low), high + room


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 4.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(digit for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= rough)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _lines(curves: Sequence[FloatArray], shown: Sequence[FloatArray]) -> list[tuple[FloatArray, str, str]]:
    found = [(values, _CURVE, "") for values in curves]
    if len(shown) > len(curves):
        found.append((shown[-1], _RECORDED, "5 3"))
    return found


def _polylines(x: FloatArray, values: FloatArray, y_of, colour: str, dash: str) -> list[str]:
    """Draw the pieces of a curve, with gaps at unknown values; a piece of one moment is a dot."""
    known = np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(int), [0]])))
    parts = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        points = " ".join(f"{x[i]:.2f},{y_of(values[i]):.2f}" for i in range(begin, end))
        if end - begin == 1:
            parts.append(f'<circle cx="{x[begin]:.2f}" cy="{y_of(values[begin]):.2f}" r="1.2" fill="{colour}"/>')
        else:
            stroke = f' stroke-dasharray="{dash}"' if dash else ""
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"{stroke}/>')
    return parts


def _strip(x: FloatArray, ends: FloatArray, worst: Sequence[int], top: float) -> list[str]:
    """Draw rectangles in the colours of the meanings, one per run of equal meanings."""
    parts, begin = [], 0
    for i in range(1, len(worst) + 1):
        if i == len(worst) or worst[i] != worst[begin]:
            width = max(ends[i - 1] - x[begin], 1.0)
            colour = "rgb({}, {}, {})".format(*COLOURS[worst[begin]])
            parts.append(
                f'<rect x="{x[begin]:.2f}" y="{top:.2f}" width="{width:.2f}" height="{STRIP}" fill="{colour}"/>'
            )
            begin = i
    return parts


def _text(x: float, y: float, words: str, *, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" font-family="sans-serif" text-anchor="{anchor}"{weight}>'
        f"{html.escape(words)}</text>"
    )
