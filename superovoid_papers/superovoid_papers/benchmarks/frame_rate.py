# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames per second of a browser that draws both hands, and processor time of each part of a frame.

This process serves a page with the grasp sweep to a headless Chromium, which draws in software. A frame counts if
something was drawn to the canvas between two refreshes of the screen. The benchmark needs Linux, for the processor
times of processes and threads in ``/proc``, and the requirements of `superovoid.viewing.screenshot`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from superovoid.viewing import screenshot
from superovoid.viewing.recording import Moment, Recording, ReplayModel
from superovoid.viewing.replay_page import ReplayPage
from superovoid.viewing.serving import open_server
from superovoid_ros.motions import grasp_sweep

_PLAYED = 40.0
"""States per second: at least one for each expected frame."""
_WARM = 5.0, 5
"""Least seconds and frames of the sweep before the measurement: the browser compiles shaders."""
_LEAST = 10
"""Least number of frames measured."""
_MOST = 300.0
"""Limit of the time to the first picture of the page, s."""
_COUNT = """
(() => {
  const seen = { frames: 0 };
  window.superovoidFrames = seen;
  let drawn = false;
  for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
    const before = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...rest) { drawn = true; return before.apply(this, rest); };
  }
  function tick() {
    if (drawn) { seen.frames++; drawn = false; }
    requestAnimationFrame(tick);
  }
  tick();
})();
"""
_KINDS = {"renderer": "browser: page, its JavaScript", "gpu-process": "browser: drawing in software"}
_THREADS = {
    "refresher": "server: state, distances, what is shown",
    "player": "server: the timeline's clock",
    "measurer": "server: curve along the recording",
}
_REST = "server: messages and websocket"
_PAGE = {
    "ScriptDuration": "scripts",
    "LayoutDuration": "layout",
    "RecalcStyleDuration": "styles",
    "TaskDuration": "all tasks",
}


def model_of_hands() -> ReplayModel:
    """Return the model of both hands in the grasp sweep, played at `_PLAYED`."""
    robot, sweep = grasp_sweep.read_sweep()
    frames = [sweep.frame(index) for index in range(len(sweep))]
    moments = [Moment(index / _PLAYED, frame.positions, frame.base_poses) for index, frame in enumerate(frames)]
    return ReplayModel(Recording("hands", robot, moments, "time", "s", between=(["left_fingers"], ["right_fingers"])))


def processor_seconds(stat: Path) -> float:
    """Return the processor time of a process or thread from its file ``stat`` in ``/proc``, s."""
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_by_browser(driver: int) -> Counter[str]:
    """Return the processor time of the browser started by a process, by the kind of its processes, s."""
    parents, used = {}, Counter[str]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
            except OSError:  # it has ended
                continue
    for pid in parents:
        above = pid
        while above in parents and above != driver:
            above = parents[above]
        if above != driver or pid == driver:
            continue
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            seconds = processor_seconds(Path(f"/proc/{pid}/stat"))
        except OSError:
            continue
        if "chrom" in words:
            kind = words.partition("--type=")[2].partition(" ")[0]
            used[_KINDS.get(kind, "browser: the rest")] += seconds
    return used


def used_by_server() -> Counter[str]:
    """Return the processor time of this process, by threads, s."""
    import threading

    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    used = Counter[str]()
    for task in Path("/proc/self/task").iterdir():
        try:
            used[_THREADS.get(names.get(int(task.name), ""), _REST)] += processor_seconds(task / "stat")
        except OSError:
            continue
    return used


def _watch(url: str, seconds: float, wire: Connection) -> None:
    """Open a page, play, and count frames; runs in a process of its own."""
    with screenshot.browser() as browser:
        page = browser.new_page(viewport={"width": screenshot.SIZE[0], "height": screenshot.SIZE[1]})
        page.set_default_timeout(1e3 * _MOST)
        page.add_init_script(_COUNT)
        page.goto(url)
        page.get_by_text("Clearance").first.wait_for()
        page.get_by_role("button", name="play").click()
        _play(page, *_WARM)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def read_counts() -> tuple[float, dict[str, float]]:
            said = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            return page.evaluate("window.superovoidFrames.frames"), said

        (before, said), begin = read_counts(), time.monotonic()
        wire.send(None)
        wire.recv()
        _play(page, seconds, _LEAST)
        (after, then), end = read_counts(), time.monotonic()
        wire.send((after - before, end - begin, {name: then[name] - said[name] for name in _PAGE}))
        wire.recv()


def _play(page: Any, seconds: float, frames: int) -> None:
    """Play a page for a number of seconds or a number of frames, whichever is longer."""
    last = page.evaluate("window.superovoidFrames.frames") + frames
    page.wait_for_timeout(1e3 * seconds)
    page.wait_for_function(f"window.superovoidFrames.frames >= {last}")


def measure(seconds: float) -> list[str]:
    """Measure, and return the lines of the report."""
    page: Any = ReplayPage(open_server("hands"), model_of_hands())
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with page.viewer:
        page._measurer.wait(_MOST)
        child = context.Process(target=_watch, args=(page.viewer.url, seconds, there))
        child.start()
        try:
            if not here.poll(_MOST):
                raise TimeoutError(f"the browser has drawn nothing for {_MOST:g} s")
            here.recv()
            states, used = page.viewer.refresher.rounds, used_by_server() + used_by_browser(child.pid)
            here.send(None)
            frames, passed, tasks = here.recv()
            states = page.viewer.refresher.rounds - states
            used = used_by_server() + used_by_browser(child.pid) - used
            here.send(None)
            child.join()
        finally:
            if child.is_alive():
                child.terminate()
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"{frames / passed:.1f} frames and {states / passed:.1f} states a second, in {passed:.0f} s",
        f"{os.cpu_count()} processors, load {load}",
        "processor time a frame, ms:",
    ]
    lines += [f"  {1e3 * value / max(frames, 1):8.2f}  {name}" for name, value in used.most_common()]
    lines.append("of the page's main thread, ms a frame:")
    lines += [f"  {1e3 * tasks[name] / max(frames, 1):8.2f}  {words}" for name, words in _PAGE.items()]
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of docs/reference/figures_service.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="that are measured (default: 20)")
    print("\n".join(measure(parser.parse_args(arguments).seconds)))


if __name__ == "__main__":
    main()
