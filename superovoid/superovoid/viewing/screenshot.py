# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Take a screenshot of a page in headless Chromium, which renders in software.

Needs playwright (PyPI) and an installed Chromium; used by the documentation and by tests.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Without a GPU, Chromium falls back to these settings by itself: WebGL in software, compositing without WebGL. The
# sandbox is off because it needs rights that root does not have in a container.
_ARGUMENTS = ("--use-angle=swiftshader-webgl", "--enable-unsafe-swiftshader", "--no-sandbox")
_NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = 1280, 800
"""Pixels of a page."""
_FADED_IN = 10_000.0
"""Time for a page to fade in, ms, even on a slow machine."""


def program() -> str | None:
    """Return the path of Chromium; None if it is not installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser() -> Iterator[Any]:
    """Start a browser through playwright; it ends with the context.

    Raises
    ------
    ModuleNotFoundError
        If playwright is missing.
    FileNotFoundError
        If Chromium is not installed.
    """
    from playwright.sync_api import sync_playwright

    path = program()
    if path is None:
        raise FileNotFoundError(f"no browser: none of {', '.join(_NAMES)} is installed")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        yield found
        found.close()


def take(url: str, path: Path) -> None:
    """Write a screenshot of a page of `superovoid view`, without the page's notifications about its renderer."""
    with browser() as found:
        page = found.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(url)
        page.get_by_text("proved in").first.wait_for()
        page.wait_for_timeout(_FADED_IN)
        for button in page.locator(".mantine-Notification-closeButton").all():
            button.click()
        page.wait_for_timeout(0.2 * _FADED_IN)
        page.screenshot(path=path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a picture for docs/how_to/viewing.md from a served page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="URL of a page of `superovoid view`")
    parser.add_argument("path", type=Path, help="PNG file to write")
    chosen = parser.parse_args(arguments)
    take(chosen.url, chosen.path)


if __name__ == "__main__":
    main()
