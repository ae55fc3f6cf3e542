# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Write a recording as one HTML file that opens from disk: viser's player with a timeline, and the texts of the page.

viser records the messages sent to a page, and the file contains a program that plays them. The player cannot show texts
and curves, so these are laid over it. Each moment of the recording carries its index, so that texts and scene stay in
step.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superovoid.viewing.canvas import Canvas, Layers
from superovoid.viewing.meanings import COLOURS, WORDS, Meaning
from superovoid.viewing.page import add_ground, look_at
from superovoid.viewing.picture import Picture, extent_of
from superovoid.viewing.recording import ReplayModel, Track
from superovoid.viewing.serving import ServingError, open_server
from superovoid.viewing.software_drawing import with_script
from superovoid.viewing.track_plot import drawing, x_coordinates

_STYLE = """
#panel { position: fixed; top: 0.6em; right: 0.6em; width: min(26em, 45vw); max-height: 80vh; overflow-y: auto;
  z-index: 300; background: #fffffff0; border: 1px solid #bbb; border-radius: 4px; padding: 0.6em 0.8em;
  box-sizing: border-box; font: 13px/1.4 sans-serif; color: #111; }
#panel summary { cursor: pointer; }
#panel h1 { display: inline; font-size: 1.1em; }
#panel .state { border-left: 0.6em solid; padding-left: 0.5em; margin-top: 0.3em; min-height: 4.2em; }
#panel .swatch { display: inline-block; width: 1.1em; height: 0.8em; border: 1px solid #666; margin-right: 0.3em; }
#panel .legend span { white-space: nowrap; margin-right: 0.7em; }
#panel .fine { font-size: 0.85em; color: #444; }
@media (max-width: 640px) {
  #panel { width: calc(100vw - 1.2em); max-height: 50vh; }
  #panel .state { min-height: 2.8em; }
}
"""

# Each moment of the recording ends with a call of showMoment, which the player runs after applying the moment, because
# its slider may be ahead of the scene. If another version of the player does not run it, no text is shown.
_SCRIPT = """
(() => {
  const moments = JSON.parse(document.getElementById("moments").textContent), panel = document.getElementById("panel");
  const state = panel.querySelector(".state"), cursor = panel.querySelector(".cursor");
  panel.open = !window.matchMedia("(max-width: 640px)").matches;
  window.showMoment = index => {
    state.textContent = moments.words[index];
    state.style.borderColor = moments.colours[index];
    if (cursor === null) return;
    cursor.setAttribute("x1", moments.along[index]);
    cursor.setAttribute("x2", moments.along[index]);
    cursor.style.visibility = "visible";
  };
})();
"""


def write_html(model: ReplayModel, path: Path, on_moment: Callable[[int], None] = lambda index: None) -> None:
    """Write a recording as a page that needs no server and no network.

    Parameters
    ----------
    model : ReplayModel
        The recording; every moment is drawn as on its page.
    path : Path
        File to write; if writing fails, no file is left.
    on_moment : callable, optional
        Called with the index of each finished moment.

    Raises
    ------
    ServingError
        If viser is missing.
    OSError
        If the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.part")
    try:
        partial.write_bytes(b"")  # raises an error before minutes of work if the file cannot be written
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        partial.write_text(page_of(model, on_moment), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def page_of(model: ReplayModel, on_moment: Callable[[int], None] = lambda index: None) -> str:
    """Return the HTML text of such a page."""
    seconds = model.recording.seconds.tolist()
    count = len(seconds)
    lengths = [*np.diff(seconds).tolist(), seconds[-1] / (count - 1) if count > 1 else 0.0]
    track, words = Track.empty(model.recording.places), []
    server = open_server(model.title)
    try:
        box = model.box()
        canvas = Canvas(server, extent_of(box))
        look_at(server.initial_camera, box)
        add_ground(server, box)
        recorder = first = None
        for index, length in enumerate(lengths):
            model.seek(index)
            picture = model.answer()
            _draw(canvas, picture)
            recorder, first = recorder or server.get_scene_serializer(), first or picture
            recorder._insert_message(_show_message(index))
            recorder.insert_sleep(length)
            track.put(index, picture.least)
            words.append(_words(model, picture))
            on_moment(index)
        if count > 1:
            # At the end, the player resets its slider to the beginning but not the scene.
            _draw(canvas, first)
            recorder._insert_message(_show_message(0))
        text = recorder.as_html()
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
    body, end, rest = text.rpartition("</body>")
    if not end:
        raise ServingError("viser's page has no </body>: this version of viser cannot be written to a file")
    return with_script(_set_title(body, model.title)) + _overlay(model, track, words) + end + rest


def _draw(canvas: Canvas, picture: Picture) -> None:
    canvas.draw(picture.root_from_link, picture.bodies, picture.pairs, Layers())


def _show_message(index: int) -> Any:
    """Return the message that makes the player show the texts of a moment."""
    from viser._messages import RunJavascriptMessage

    return RunJavascriptMessage(f"showMoment({index})")


def _set_title(text: str, title: str) -> str:
    begin, tag, rest = text.partition("<title>")
    if not tag:
        return text
    return f"{begin}{tag}{html.escape(title)}</title>{rest.partition('</title>')[2]}"


def _words(model: ReplayModel, picture: Picture) -> str:
    recording = model.recording
    least = picture.least
    which = f"{recording.words(model.index)}: " if len(recording.moments) > 1 else ""
    return f"{which}{least.words} ({WORDS[least.meaning]})"


def _overlay(model: ReplayModel, track: Track, words: list[str]) -> str:
    """Return the HTML laid over the player: title, state of the moment, curve, legend.

    A click on the title folds all but title and state. On a narrow screen, the page opens with the panel folded.
    """
    recording = model.recording
    moments = {
        "along": [round(value, 2) for value in x_coordinates(recording).tolist()],
        "words": words,
        "colours": ["rgb({}, {}, {})".format(*COLOURS[Meaning(int(meaning))]) for meaning in track.meaning],
    }
    swatches = "".join(
        f'<span><span class="swatch" style="background: rgb{COLOURS[meaning]}"></span>{WORDS[meaning]}</span>'
        for meaning in sorted(Meaning, reverse=True)
    )
    of = "all checked pairs"
    if recording.between is not None:
        of = " and ".join(", ".join(side) for side in recording.between)
        of = f"the pairs between {of}; bodies are coloured by all checked pairs"
    fine = [f"Minimum distance of {of}; near: at most {1e3 * model.near:.6g} mm.", *recording.notes]
    curve = drawing(recording, track, 0, model.near) if len(recording.moments) > 1 else ""
    data = json.dumps(moments, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<style>{_STYLE}</style><details id="panel" open><summary><h1>{html.escape(recording.title)}</h1>'
        f'<div class="state"></div></summary>'
        f'{curve}<div class="legend">{swatches}</div>'
        f'<div class="fine">{"<br>".join(map(html.escape, fine))}</div></details>'
        f'<script type="application/json" id="moments">{data}</script><script>{_SCRIPT}</script>'
    )
