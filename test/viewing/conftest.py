# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A real browser: Debian's Chromium without a display, with WebGL in software, driven by playwright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from superovoid_ros.viewing import screenshot

# Said by the page of viser, or by the renderer in software, about themselves.
EXPECTED = ("WebGL", "GPU stall", "GL Driver Message", "THREE.Clock", "swiftshader")
LONG = 60_000.0
"""Milliseconds that a page on a busy machine may take for anything."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser; tests without one are skipped with the reason."""
    pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    if screenshot.program() is None:
        pytest.skip("there is no Chromium: apt install chromium")
    with screenshot.browser() as found:
        yield found


class Tab:
    """A page that is open in the browser; `troubles` is what its console says of errors."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": screenshot.SIZE[0], "height": screenshot.SIZE[1]})
        self.page.set_default_timeout(LONG)
        self.troubles: list[str] = []
        self.requested: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))

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
