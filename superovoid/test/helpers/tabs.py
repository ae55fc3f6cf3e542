# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A real browser: Debian's headless Chromium with software WebGL, controlled by playwright.

Test modules import the fixtures `chromium` and `tab`.
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

# Console messages of viser's page and of the software renderer, to ignore.
EXPECTED = ("WebGL", "GPU stall", "GL Driver Message", "THREE.Clock", "swiftshader")
GRIP = 0.85
"""Position at which an arrow of a handle is grabbed, relative to its length."""
LONGEST = 600_000.0
"""Time-out for waiting on an open page, ms."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Yield a browser; skip the test with a reason if there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install '.[browser]'")
    if screenshot.program() is None:
        pytest.skip("there is no Chromium: apt install chromium")
    with screenshot.browser() as found:
        yield found


class Tab:
    """A page in the browser; `troubles` collects the errors and warnings of its console."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": screenshot.SIZE[0], "height": screenshot.SIZE[1]})
        self.page.set_default_timeout(LONGEST)
        self.page.set_default_navigation_timeout(0.0)
        self.troubles: list[str] = []
        self.requested: list[str] = []
        self.failed: list[str] = []
        self.page.on("console", self._log_message)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", self._log_failure)

    def _log_failure(self, request: Any) -> None:
        if request.is_navigation_request():
            self.failed.append(f"{request.url}: {request.failure}")

    def open(self, source: Viewer | str) -> None:
        """Open a served page or an address, and wait until it is loaded.

        If the browser or the server ends, playwright raises an error. If the transfer of the page is interrupted,
        playwright would wait forever, so a failed request is an error here.
        """
        if not isinstance(source, str):
            source.refresher.wait(threading.TIMEOUT_MAX)
            source = source.url
        self.page.goto(source, wait_until="commit")
        while self.page.evaluate("document.readyState") != "complete":
            assert not self.failed, self.failed
            self.page.wait_for_timeout(20.0)

    def _log_message(self, message: Any) -> None:
        if message.type in ("error", "warning") and not any(words in message.text for words in EXPECTED):
            self.troubles.append(f"{message.type}: {message.text}")

    def set_number(self, label: str, value: float) -> None:
        """Type a number into the field next to the slider with a label, like a user."""
        box = self.page.locator(f"xpath=//label[normalize-space()='{label}']/following::input[@inputmode][1]")
        box.fill(repr(value))
        box.press("Enter")

    def picture(self, path: Path) -> Any:
        """Save a screenshot; return it as an array (height, width, 3) with values from 0 to 1."""
        from matplotlib.image import imread

        self.page.screenshot(path=path)
        return imread(path)[:, :, :3]


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    """Yield a new page."""
    tab = Tab(chromium)
    yield tab
    tab.page.close()


def seen_when(tab: Tab, path: Path, holds: Callable[[Any], Any], rest: Callable[[], None] | None = None) -> Any:
    """Take screenshots until a condition holds, and return the last; pages fade in, and draw when idle."""
    for _ in range(60):
        picture = tab.picture(path)
        if holds(picture):
            return picture
        if rest is not None:
            rest()
        tab.page.wait_for_timeout(500.0)
    raise AssertionError(f"the condition never held; the last picture is {path}")


def on_screen(camera: Any, point: Any) -> tuple[float, float]:
    """Return the screen position of a world point, in pixels from the left and from the top."""
    w, x, y, z = camera.wxyz
    local = Rotation.from_quat([x, y, z, w]).inv().apply(np.asarray(point) - camera.position)
    height = camera.image_height
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return 0.5 * camera.image_width + focal * local[0] / local[2], 0.5 * height + focal * local[1] / local[2]


def drag_up(tab: Tab, page: Any, gizmo: Any, rise: float, folder: Path, rest: Callable[[], None] | None = None) -> None:
    """Drag the upward arrow of a handle with the mouse by `rise`, m; `rest` is called during each wait."""

    def wait() -> None:
        if rest is not None:
            rest()
        tab.page.wait_for_timeout(50.0)

    (client,) = page.server.get_clients().values()
    foot = np.array(gizmo.position)

    def screen_point(height: float) -> Any:
        return np.array(on_screen(client.camera, foot + np.array([0.0, 0.0, height])))

    def colour(picture: Any) -> Any:
        x, y = screen_point(GRIP * gizmo.scale).astype(int)
        return picture[y, x]

    # The z arrow, outside the rings: blue in front of the grey grid and ground.
    before = colour(seen_when(tab, folder / "handle.png", lambda picture: np.ptp(colour(picture)) > 0.3, rest))
    grip, end = screen_point(GRIP * gizmo.scale), screen_point(GRIP * gizmo.scale + rise)
    tab.page.mouse.move(*grip)
    # The handle reacts to a click only after it has been highlighted.
    seen_when(tab, folder / "held.png", lambda picture: np.abs(colour(picture) - before).max() > 0.1, rest)
    tab.page.mouse.down()
    for share in np.linspace(0.0, 1.0, 9)[1:]:
        tab.page.mouse.move(*(grip + share * (end - grip)))
        wait()
    tab.page.mouse.up()
