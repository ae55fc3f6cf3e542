# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A real browser: Debian's Chromium without a display, with WebGL in software, driven by playwright.

The fixtures `chromium` and `tab` are imported where a test needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from superovoid.viewing import screenshot
from superovoid.viewing.serving import Viewer

# Said by the page of viser, or by the renderer in software, about themselves.
EXPECTED = ("WebGL", "GPU stall", "GL Driver Message", "THREE.Clock", "swiftshader")
GRIP = 0.85
"""Where an arrow of a handle is taken, in lengths of it."""
LONGEST = 600_000.0
"""Milliseconds after which a page that is open has failed to show something."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser; tests without one are skipped with the reason."""
    pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install '.[browser]'")
    if screenshot.program() is None:
        pytest.skip("there is no Chromium: apt install chromium")
    with screenshot.browser() as found:
        yield found


class Tab:
    """A page that is open in the browser; `troubles` is what its console says of errors."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": screenshot.SIZE[0], "height": screenshot.SIZE[1]})
        self.page.set_default_timeout(LONGEST)
        self.page.set_default_navigation_timeout(0.0)
        self.troubles: list[str] = []
        self.requested: list[str] = []
        self.failed: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", self._failed)

    def _failed(self, request: Any) -> None:
        if request.is_navigation_request():
            self.failed.append(f"{request.url}: {request.failure}")

    def open(self, source: Viewer | str) -> None:
        """Open a page that is served, or an address; wait until it is loaded, as long as browser and server live.

        A browser or server that has ended is an error of playwright. A page whose transfer was cut off never loads, and
        playwright waits for it without end, so that a request that failed is an error here.
        """
        if not isinstance(source, str):
            source.refresher.wait(threading.TIMEOUT_MAX)
            source = source.url
        self.page.goto(source, wait_until="commit")
        while self.page.evaluate("document.readyState") != "complete":
            assert not self.failed, self.failed
            self.page.wait_for_timeout(20.0)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and not any(words in message.text for words in EXPECTED):
            self.troubles.append(f"{message.type}: {message.text}")

    def set_number(self, label: str, value: float) -> None:
        """Write a number beside the slider of a label, as a user does."""
        box = self.page.locator(f"xpath=//label[normalize-space()='{label}']/following::input[@inputmode][1]")
        box.fill(repr(value))
        box.press("Enter")

    def picture(self, path: Path) -> Any:
        """What is seen, an array (height, width, 3) of 0 to 1; kept as a file."""
        from matplotlib.image import imread

        self.page.screenshot(path=path)
        return imread(path)[:, :, :3]


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    """A page of one's own."""
    tab = Tab(chromium)
    yield tab
    tab.page.close()


def seen_when(tab: Tab, path: Path, holds: Callable[[Any], Any], rest: Callable[[], None] | None = None) -> Any:
    """A picture for which something holds; a page fades in, and draws when it has time."""
    for _ in range(60):
        picture = tab.picture(path)
        if holds(picture):
            return picture
        if rest is not None:
            rest()
        tab.page.wait_for_timeout(500.0)
    raise AssertionError(f"never seen; the last picture is {path}")


def on_screen(camera: Any, point: Any) -> tuple[float, float]:
    """Where a point of the world is seen, pixels from the left and from the top."""
    w, x, y, z = camera.wxyz
    local = Rotation.from_quat([x, y, z, w]).inv().apply(np.asarray(point) - camera.position)
    height = camera.image_height
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return 0.5 * camera.image_width + focal * local[0] / local[2], 0.5 * height + focal * local[1] / local[2]


def drag_up(tab: Tab, page: Any, gizmo: Any, rise: float, folder: Path, rest: Callable[[], None] | None = None) -> None:
    """Drag the upward arrow of a handle with the mouse, m; `rest` is called wherever one waits."""

    def wait() -> None:
        if rest is not None:
            rest()
        tab.page.wait_for_timeout(50.0)

    (client,) = page.server.get_clients().values()
    foot = np.array(gizmo.position)

    def above(height: float) -> Any:
        return np.array(on_screen(client.camera, foot + np.array([0.0, 0.0, height])))

    def colour(picture: Any) -> Any:
        x, y = above(GRIP * gizmo.scale).astype(int)
        return picture[y, x]

    # The arrow of z, beyond the rings: blue, where the grid and the ground are grey.
    before = colour(seen_when(tab, folder / "handle.png", lambda picture: np.ptp(colour(picture)) > 0.3, rest))
    grip, end = above(GRIP * gizmo.scale), above(GRIP * gizmo.scale + rise)
    tab.page.mouse.move(*grip)
    # It takes hold of what it has been seen to be over.
    seen_when(tab, folder / "held.png", lambda picture: np.abs(colour(picture) - before).max() > 0.1, rest)
    tab.page.mouse.down()
    for share in np.linspace(0.0, 1.0, 9)[1:]:
        tab.page.mouse.move(*(grip + share * (end - grip)))
        wait()
    tab.page.mouse.up()
