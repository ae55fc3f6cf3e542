# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page of a recording: the recorded motion of a robot, a timeline, and the minimum distance over time."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superovoid.viewing.page import small_text
from superovoid.viewing.picture import Picture
from superovoid.viewing.recording import ReplayModel, Track
from superovoid.viewing.robot_page import Looks, RobotPage
from superovoid.viewing.serving import LOOPBACK, Refresher, Viewer, open_server
from superovoid.viewing.track_plot import cursor_over, drawing

if TYPE_CHECKING:
    import viser

_TICKS = 1.0 / 60.0, 0.1  # s, minimum and maximum time between updates while playing
_DRAW_PERIOD = 0.5  # s, between updates of a curve while it is being computed


def show_replay(
    model: ReplayModel, *, looks: Looks | None = None, host: str = LOOPBACK, port: int = 0, notes: Sequence[str] = ()
) -> Viewer:
    """Serve a page with a recording; see `superovoid.viewing.robot_page.show_robot`."""
    server = open_server(model.title, host, port)
    try:
        return ReplayPage(server, model, looks, notes).viewer
    except BaseException:
        server.stop()
        raise


class Player:
    """Advance a position in time while playing, in its own thread.

    Parameters
    ----------
    seconds : array
        Time of each moment, ascending from 0.
    show : callable
        Called with the index of the current moment.
    """

    def __init__(self, seconds: np.ndarray, show) -> None:
        self._seconds, self._show = seconds, show
        self._change = threading.Condition()
        self._closed = False
        self.playing, self.speed, self.repeat = False, 1.0, True
        self._at, self._since = 0.0, time.monotonic()
        self._next = 0.0  # monotonic time of the next update
        self._thread = threading.Thread(target=self._work, name="player", daemon=True)
        self._thread.start()

    def play(self, playing: bool) -> None:
        """Play or pause; play from the beginning if the position is at the end."""
        with self._change:
            if playing and self._at >= self._seconds[-1]:
                self._at = 0.0
            self.playing, self._since = playing, time.monotonic()
            self._change.notify_all()

    def seek(self, index: int) -> None:
        """Go to a moment."""
        with self._change:
            self._at, self._since = float(self._seconds[index]), time.monotonic()

    def close(self) -> None:
        """End the thread."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def advance(self, passed: float) -> int:
        """Advance by a number of seconds and return the index of the moment; at the end, repeat or pause."""
        end = float(self._seconds[-1])
        self._at += passed * self.speed
        if self._at > end:
            if self.repeat and end > 0.0:
                self._at %= end
            else:
                self._at, self.playing = end, False
        return int(np.searchsorted(self._seconds, self._at, side="right")) - 1

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self.playing or self._closed)
                self._change.wait_for(lambda: self._closed, self._next - time.monotonic())
                if self._closed:
                    return
                if not self.playing:
                    continue
                now = time.monotonic()
                index = self.advance(now - self._since)
                self._since, self._next = now, now + self._seconds_until(index + 1)
            self._show(index)

    def _seconds_until(self, index: int) -> float:
        """Return the seconds until a moment is due, within `_TICKS`."""
        least, most = _TICKS
        due = float(self._seconds[index]) - self._at if index < len(self._seconds) else 0.0
        return min(max(due / self.speed, least), most)


class ReplayPage(RobotPage):
    """Controls and picture of a recording."""

    model: ReplayModel

    def __init__(
        self, server: viser.ViserServer, model: ReplayModel, looks: Looks | None = None, notes: Sequence[str] = ()
    ) -> None:
        self._track = Track.empty(model.recording.places)
        self._measured = 0  # number of computed moments of the track
        self._stale = threading.Event()  # set if the scene has changed since the present computation began
        self._player: Player | None = None
        self._follows = False  # whether the slider follows the player
        self._slider_index = -1  # slider position last set by the page
        self._moment = 0  # index of the moment described by the text
        super().__init__(server, model, looks, (*model.recording.notes, *notes))
        self._player = Player(model.recording.seconds, self._show_due)
        self._measurer = Refresher(self._measure, self._show_measuring_error, "measurer")
        self.viewer.on_close(self._player.close)
        self.viewer.on_close(self._end_measuring)
        self._measurer.ask()

    # -- the timeline ---------------------------------------------------------------------------------------------

    def _make_joints(self) -> None:
        """Add no sliders, because the recording sets the joints."""

    def _make_list(self) -> None:
        self._make_timeline()
        super()._make_list()

    def _make_timeline(self) -> None:
        gui, last = self.server.gui, len(self.model.recording.moments) - 1
        with gui.add_folder("Timeline"):
            self._moment_text = gui.add_html("")
            self._slider = gui.add_slider("moment", 0, max(last, 1), 1, 0, disabled=last == 0)
            self._buttons = gui.add_button_group("", ("play", "pause", "|<", "<", ">", ">|"))
            speed = gui.add_dropdown("speed", ("0.1", "0.25", "0.5", "1", "2", "5"), initial_value="1")
            repeat = gui.add_checkbox("repeat", True)
            self._cursor = gui.add_html("")
            self._plot = gui.add_html("")
        self._slider.on_update(lambda event: self._on_slider(event.target.value, by_hand=event.client is not None))
        self._buttons.on_click(lambda event: self._press(event.target.value))
        speed.on_update(lambda event: setattr(self._player, "speed", float(event.target.value)))
        repeat.on_update(lambda event: setattr(self._player, "repeat", event.target.value))

    def _make_bases(self) -> None:
        """Add no handles, because the recording sets the bases."""

    def _press(self, name: str) -> None:
        last = len(self.model.recording.moments) - 1
        if name in ("play", "pause"):
            self._player.play(name == "play")
            return
        self._player.play(False)
        index = {"|<": 0, "<": self.model.index - 1, ">": self.model.index + 1, ">|": last}[name]
        self._slider.value = index = min(max(index, 0), last)
        self._seek(index, by_hand=True)

    def _on_slider(self, index: int, *, by_hand: bool) -> None:
        if by_hand or index != self._slider_index:  # otherwise the page set the slider, and the robot may have moved on
            self._seek(index, by_hand=by_hand)

    def _seek(self, index: int, *, by_hand: bool) -> None:
        index = min(int(index), len(self.model.recording.moments) - 1)
        self._follows = not by_hand
        if by_hand and self._player is not None:
            self._player.seek(index)
        if index != self.model.index:
            self._change(lambda: self.model.seek(index))

    def _show_due(self, index: int) -> None:
        if index != self.model.index:
            self._seek(index, by_hand=False)

    # -- the curve ------------------------------------------------------------------------------------------------

    def _scene_changed(self) -> None:
        """Recompute the distances of all moments."""
        self._stale.set()
        self._measurer.ask()

    def _measure(self) -> None:
        self._stale.clear()
        with self._lock:
            measure = self.model.measure()
        track, drawn_at = Track.empty(self.model.recording.places), time.monotonic()
        for index in range(len(track.places)):
            track.put(index, measure(index))
            self._measured = index + 1
            if self._stale.is_set():
                return
            if time.monotonic() > drawn_at + _DRAW_PERIOD:
                self._track, drawn_at = track, time.monotonic()
                self._draw_track()
                self._show_moment()
        self._track = track
        self._draw_track()
        self._show_moment()

    def _show_measuring_error(self, error: Exception) -> None:
        self._track = Track.empty(self.model.recording.places)
        self._show_message(f"distances along the recording: {type(error).__name__}: {error}")
        self._draw_track()

    def _end_measuring(self) -> None:
        self._stale.set()
        self._measurer.close()

    def _draw_track(self) -> None:
        self._plot.content = drawing(self.model.recording, self._track, near=self.model.near)

    def _show_moment(self) -> None:
        """Show the current moment as text, by the cursor, and by the slider if it follows the player."""
        model, count = self.model, len(self.model.recording.moments)
        index = self._moment
        if self._follows:
            self._slider_index = index
            self._slider.value = index
        self._cursor.content = cursor_over(model.recording, index)
        words = html.escape(f"{model.recording.words(index)} ({index + 1} of {count})")
        unknown = model.recording.moments[index].unknown
        if unknown:
            words += f"<br>{html.escape(unknown)}"
        if self._measured < count:
            words += f"<br>distances computed: {self._measured} of {count}"
        self._moment_text.content = small_text(words, escaped=True)

    def _write(self, picture: Picture) -> None:
        super()._write(picture)
        self._moment = picture.moment
        self._show_moment()
