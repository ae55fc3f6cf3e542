# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures for HTML pages that turn by mouse, finger or keys, without network, WebGL or libraries.

The page has each surface once, compressed. A script draws it with a depth buffer into the canvas of each picture.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superovoid.fitting.painted_links import PROTRUDING, UNCOVERED, Surface

FloatArray = NDArray[np.float64]

_STEPS = 4095  # of coordinates, across the longest side of a surface
_LEVELS = 255  # of distances
_RAMPS = {"mesh": UNCOVERED, "bodies": PROTRUDING}


@dataclass(frozen=True, eq=False)
class DrawnSurface:
    """A surface in a picture."""

    number: int
    """of the surface, as returned by `Surfaces.add`"""
    group: str
    """the button that shows it"""
    colour: str | Sequence[int]
    """"mesh" or "bodies": by distance, in blue or in orange; or one colour"""
    pose: FloatArray = field(default_factory=lambda: np.eye(4))


@dataclass(frozen=True)
class Mark:
    """A labelled point of a picture."""

    text: str
    point: tuple[float, float, float]
    """m"""


class Surfaces:
    """The surfaces of a page."""

    def __init__(self) -> None:
        self._packed: list[dict[str, Any]] = []
        self._vertices: list[FloatArray] = []

    def add(self, surface: Surface, scale: float = 1.0) -> int:
        """Add a surface and return its number.

        Parameters
        ----------
        surface : Surface
        scale : float
            Distance from which on the last colour is used, m.
        """
        vertices = surface.vertices
        lower, upper = vertices.min(axis=0), vertices.max(axis=0)
        step = float((upper - lower).max()) / _STEPS
        # Differences of neighbours compress better: vertices are sorted, and so are faces by their first vertex.
        first = surface.faces.argmin(axis=1)[:, None]
        faces = np.take_along_axis(surface.faces, (first + np.arange(3)) % 3, axis=1)
        faces = faces[np.lexsort(faces.T[::-1])].T
        places = np.diff(np.round((vertices - lower) / step).T, axis=1, prepend=0)
        faces = np.stack([np.diff(faces[0], prepend=0), faces[1] - faces[0], faces[2] - faces[0]])
        levels = np.clip(np.round(_LEVELS * surface.away / scale), 0, _LEVELS)
        data = places.astype("<i2").tobytes() + faces.astype("<i2").tobytes() + levels.astype("u1").tobytes()
        self._packed.append(
            {
                "vertices": len(vertices),
                "faces": len(surface.faces),
                "lower": [float(f"{value:.6g}") for value in lower],
                "step": float(f"{step:.6g}"),
                "data": base64.b64encode(zlib.compress(data, 9)).decode(),
            }
        )
        self._vertices.append(vertices)
        return len(self._packed) - 1

    def picture(
        self,
        shown: Sequence[DrawnSurface],
        groups: Mapping[str, Sequence[str]],
        words: str,
        *,
        marks: Sequence[Mark] = (),
        towards: ArrayLike = (1.0, -0.8, 0.45),
    ) -> str:
        """Return a picture as HTML.

        Parameters
        ----------
        shown : sequence of DrawnSurface
        groups : mapping of str to sequence of str
            Buttons, and the groups of surfaces that each shows; the first is pressed at the beginning.
        words : str
            Description for readers who do not see the picture.
        marks : sequence of Mark
        towards : (3,) array_like
            Direction from the surfaces to the eye.
        """
        points = np.concatenate([self._vertices[each.number] @ each.pose[:3, :3].T + each.pose[:3, 3]
                                 for each in shown])  # fmt: skip
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        x, y, z = np.asarray(towards, dtype=float) / np.linalg.norm(towards)
        view = {
            "centre": _round_numbers(centre),
            "radius": _round_numbers(np.linalg.norm(points - centre, axis=1).max()),
            "angles": _round_numbers((np.arctan2(y, x), np.arcsin(z))),
            "groups": [list(names) for names in groups.values()],
            "shown": [
                {
                    "number": each.number,
                    "group": each.group,
                    "colours": _RAMPS[each.colour] if isinstance(each.colour, str) else [each.colour],
                    "pose": _round_numbers(each.pose[:3]),
                }
                for each in shown
            ],
            "marks": [{"text": mark.text, "point": _round_numbers(mark.point)} for mark in marks],
        }
        buttons = "".join(
            f'<button type="button" aria-pressed="{"true" if number == 0 else "false"}">{html.escape(name)}</button>'
            for number, name in enumerate(groups)
        )
        return (
            f'<div class="turn" data-view="{html.escape(json.dumps(view))}"><canvas tabindex="0" role="img" '
            f'aria-label="{html.escape(words, quote=True)}"></canvas><div class="buttons">{buttons}</div></div>'
        )

    def script(self) -> str:
        """Return the surfaces, the style of the pictures and the program that draws them, as HTML."""
        return (
            f"<style>{_STYLE}</style><noscript><p>The pictures need JavaScript.</p></noscript>"
            f'<script type="application/json" id="surfaces">{json.dumps(self._packed)}</script>'
            f"<script>{_SCRIPT}</script>"
        )


def _round_numbers(values: ArrayLike) -> Any:
    """Return numbers with six digits, for JSON."""
    array = np.asarray(values, dtype=float)
    return np.array([float(f"{value:.6g}") for value in array.ravel()]).reshape(array.shape).tolist()


_STYLE = """
.turn canvas { display: block; width: 100%; aspect-ratio: 4 / 3; border: 1px solid #ddd; cursor: grab;
  touch-action: pan-y; box-sizing: border-box; }
.turn canvas:focus-visible { outline: 2px solid #0072b2; }
.turn .buttons { display: flex; flex-wrap: wrap; gap: .3rem; margin: .3rem 0; }
.turn button { font: inherit; font-size: .8rem; padding: .15rem .6rem; border: 1px solid #bbb; border-radius: .2rem;
  background: #fff; color: inherit; }
.turn button[aria-pressed="true"] { background: #1a1a1a; border-color: #1a1a1a; color: #fff; }
"""

# Colours are darker if a face is seen edge-on. A label is next to its point: at the first of the places around it
# that lies in the picture and does not meet another label or ring.
_SCRIPT = """
(() => {
  const unpack = async packed => {
    const bytes = Uint8Array.from(atob(packed.data), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const data = await new Response(stream).arrayBuffer(), n = packed.vertices, m = packed.faces;
    const whole = new Int16Array(data, 0, 3 * (n + m));
    const points = new Float32Array(3 * n), faces = new Uint16Array(3 * m);
    for (let axis = 0; axis < 3; axis++)
      for (let i = 0, sum = 0; i < n; i++)
        points[3 * i + axis] = packed.lower[axis] + packed.step * (sum += whole[axis * n + i]);
    for (let i = 0, sum = 0; i < m; i++) {
      faces[3 * i] = sum += whole[3 * n + i];
      faces[3 * i + 1] = sum + whole[3 * n + m + i];
      faces[3 * i + 2] = sum + whole[3 * n + 2 * m + i];
    }
    return { points, faces, levels: new Uint8Array(data, 6 * (n + m), n) };
  };

  const drawFaces = (surface, seen, colours, screen) => {
    const { width, height, depth, pixels } = screen, { faces, levels } = surface, count = colours.length;
    for (let f = 0; f < faces.length; f += 3) {
      const a = faces[f], b = faces[f + 1], c = faces[f + 2];
      const ax = seen[3 * a], ay = seen[3 * a + 1], az = seen[3 * a + 2];
      const bx = seen[3 * b] - ax, by = seen[3 * b + 1] - ay, bz = seen[3 * b + 2] - az;
      const cx = seen[3 * c] - ax, cy = seen[3 * c + 1] - ay, cz = seen[3 * c + 2] - az;
      const area = bx * cy - by * cx;
      if (area === 0) continue;
      const facing = Math.abs(area) / Math.hypot(area, by * cz - bz * cy, bz * cx - bx * cz);
      const shade = 0.55 + 0.45 * facing;
      const left = Math.max(0, Math.ceil(ax + Math.min(0, bx, cx) - 0.5));
      const right = Math.min(width - 1, Math.floor(ax + Math.max(0, bx, cx) - 0.5));
      const top = Math.max(0, Math.ceil(ay + Math.min(0, by, cy) - 0.5));
      const bottom = Math.min(height - 1, Math.floor(ay + Math.max(0, by, cy) - 0.5));
      const la = levels[a], lb = levels[b] - la, lc = levels[c] - la;
      for (let y = top; y <= bottom; y++)
        for (let x = left; x <= right; x++) {
          const dx = x + 0.5 - ax, dy = y + 0.5 - ay;
          const v = (dx * cy - dy * cx) / area, w = (bx * dy - by * dx) / area;
          if (v < -1e-6 || w < -1e-6 || v + w > 1.000001) continue;
          const at = y * width + x, z = az + v * bz + w * cz;
          if (z <= depth[at]) continue;
          depth[at] = z;
          const colour = colours[Math.min(count - 1, Math.max(0, Math.floor((la + v * lb + w * lc) * count / 255)))];
          pixels[4 * at] = shade * colour[0];
          pixels[4 * at + 1] = shade * colour[1];
          pixels[4 * at + 2] = shade * colour[2];
        }
    }
  };

  const drawMarks = (context, marks, size, ratio) => {
    const ring = 6 * ratio, high = 16 * ratio, gap = 3 * ratio;
    const taken = marks.map(mark => [mark.x - ring, mark.y - ring, mark.x + ring, mark.y + ring]);
    const meets = (p, q) => p[0] < q[2] && q[0] < p[2] && p[1] < q[3] && q[1] < p[3];
    context.font = `600 ${12 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    marks.forEach(mark => {
      for (const [colour, line, dash] of [["#fff", 4, []], ["#000", 1.5, mark.hidden ? [3 * ratio, 3 * ratio] : []]]) {
        context.strokeStyle = colour;
        context.lineWidth = line * ratio;
        context.setLineDash(dash);
        context.beginPath();
        context.arc(mark.x, mark.y, ring, 0, 2 * Math.PI);
        context.stroke();
      }
      context.setLineDash([]);
      const wide = context.measureText(mark.text).width;
      const places = [];
      for (let row = 0; row < 6; row++)
        for (const up of [-1, 1])
          for (const side of [1, -1]) {
            const left = mark.x + (side > 0 ? ring + gap : -ring - gap - wide);
            const top = mark.y + up * row * high * 0.8 - high / 2;
            places.push([left, top, left + wide, top + high]);
          }
      const place = places.find(box => box[0] >= 0 && box[1] >= 0 && box[2] <= size[0] && box[3] <= size[1]
        && !taken.some(other => meets(box, other))) || places[0];
      taken.push(place);
      context.strokeStyle = "#fff";
      context.lineWidth = 3.5 * ratio;
      context.strokeText(mark.text, place[0], place[1] + high / 2);
      context.fillStyle = "#000";
      context.fillText(mark.text, place[0], place[1] + high / 2);
    });
  };

  const start = (element, surfaces) => {
    const view = JSON.parse(element.dataset.view), canvas = element.querySelector("canvas");
    const buttons = [...element.querySelectorAll("button")];
    let [yaw, pitch] = view.angles, zoom = 1, groups = view.groups[0], waiting = false;
    const draw = () => {
      waiting = false;
      const ratio = Math.min(2, window.devicePixelRatio || 1);
      const width = canvas.width = Math.max(1, Math.round(ratio * canvas.clientWidth));
      const height = canvas.height = Math.max(1, Math.round(ratio * canvas.clientHeight));
      const context = canvas.getContext("2d"), image = context.createImageData(width, height);
      image.data.fill(255);
      const screen = { width, height, depth: new Float32Array(width * height).fill(-Infinity), pixels: image.data };
      const cy = Math.cos(yaw), sy = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch);
      const axes = [[-sy, cy, 0], [-sp * cy, -sp * sy, cp], [cp * cy, cp * sy, sp]];  // right, up, to the eye
      const scale = 0.48 * zoom * Math.min(width, height) / view.radius;
      const project = p => axes.map(axis =>
        scale * axis.reduce((sum, value, i) => sum + value * (p[i] - view.centre[i]), 0));
      view.shown.filter(each => groups.includes(each.group)).forEach(each => {
        const surface = surfaces[each.number], seen = new Float32Array(surface.points.length), pose = each.pose;
        const origin = project(pose.map(row => row[3]));
        const turn = axes.map(axis => [0, 1, 2].map(j =>
          scale * axis.reduce((sum, value, i) => sum + value * pose[i][j], 0)));
        for (let i = 0; i < seen.length; i += 3) {
          const x = surface.points[i], y = surface.points[i + 1], z = surface.points[i + 2];
          seen[i] = width / 2 + origin[0] + turn[0][0] * x + turn[0][1] * y + turn[0][2] * z;
          seen[i + 1] = height / 2 - origin[1] - turn[1][0] * x - turn[1][1] * y - turn[1][2] * z;
          seen[i + 2] = origin[2] + turn[2][0] * x + turn[2][1] * y + turn[2][2] * z;
        }
        drawFaces(surface, seen, each.colours, screen);
      });
      context.putImageData(image, 0, 0);
      drawMarks(context, view.marks.map(mark => {
        const [right, up, near] = project(mark.point), x = width / 2 + right, y = height / 2 - up;
        const at = Math.floor(y) * width + Math.floor(x), inside = x >= 0 && y >= 0 && x < width && y < height;
        return { text: mark.text, x, y, hidden: inside && screen.depth[at] > near + 0.03 * scale * view.radius };
      }), [width, height], ratio);
    };
    const redraw = () => {
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    };
    const turn = (right, up) => {
      yaw -= right;
      pitch = Math.max(-1.57, Math.min(1.57, pitch + up));
      redraw();
    };
    const enlarge = factor => {
      zoom = Math.max(0.5, Math.min(8, zoom * factor));
      redraw();
    };
    let last = null;
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      last = event;
    });
    canvas.addEventListener("pointermove", event => {
      if (!event.buttons || last === null) return;
      turn(0.01 * (event.clientX - last.clientX), 0.01 * (event.clientY - last.clientY));
      last = event;
    });
    canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      enlarge(Math.exp(-0.002 * event.deltaY));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => {
      [yaw, pitch] = view.angles;
      zoom = 1;
      redraw();
    });
    const keys = { ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, -0.1),
      ArrowDown: () => turn(0, 0.1), "+": () => enlarge(1.2), "-": () => enlarge(1 / 1.2) };
    canvas.addEventListener("keydown", event => {
      if (!(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
    buttons.forEach((button, number) => button.addEventListener("click", () => {
      groups = view.groups[number];
      buttons.forEach(each => each.setAttribute("aria-pressed", String(each === button)));
      redraw();
    }));
    new ResizeObserver(redraw).observe(canvas);
  };

  const packed = JSON.parse(document.getElementById("surfaces").textContent);
  Promise.all(packed.map(unpack)).then(surfaces =>
    document.querySelectorAll(".turn").forEach(element => start(element, surfaces)));
})();
"""
