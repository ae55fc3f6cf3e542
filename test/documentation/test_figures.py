# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measured figures have one place, in the pages of figures; the README quotes five of them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURES = [ROOT / "docs" / "reference" / f"figures{which}.md" for which in ("", "_scenes", "_service")]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts)
MEASURED = {*FIGURES, ROOT / "docs/reference/fits.md", ROOT / "docs/explanation/comparison.md"}
"""Pages with measured times; those of papers have the times of their experiments."""
QUOTED = re.compile(r"\[([^]]*(?:\d|minute|second)[^]]*)\]\((?:[\w./]*/)?(figures\w*\.md)(?:#([\w-]*))?\)")
TIMES = re.compile(
    r"\d (?:µs|us|ns)\b|(?:takes?|took) (?:about )?[\d.,]+ (?:ms|s|minutes)\b|[\d.]+ times (?:as fast|faster|slower)"
)


def sections(page):
    """Return the text of a page of figures by the anchors of its headings."""
    _, *parts = re.split(r"^## +(.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {title.lower().replace(" ", "-"): text for title, text in zip(parts[::2], parts[1::2], strict=True)}


def rows():
    """Return last cell and whole text of every row of two-column tables in the pages of figures."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in FIGURES)
    return re.findall(r"^\| ([^|]*) \| ([^|]*?) \|$", text, re.M)


def test_no_quantity_has_two_figures():
    quantities = [quantity for quantity, _ in rows() if not set(quantity) <= set("-| ")]
    assert len(quantities) > 20
    assert len(set(quantities)) == len(quantities)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_quotes_a_figure_of_another_page(page):
    text = page.read_text(encoding="utf-8")
    assert not QUOTED.findall(text)
    assert page in MEASURED or page.parent.name == "papers" or not TIMES.findall(text)


def test_figures_of_the_readme_are_quotations_with_their_command():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^## Five figures\n(.*?)^## ", text, re.M | re.S)[1]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 5
    for line in lines:
        quoted = QUOTED.search(line)
        assert quoted, line
        section = sections(ROOT / "docs" / "reference" / quoted[2])[quoted[3]]
        assert re.search(rf"(?<![\d.,]){re.escape(quoted[1])}(?![\d.,]\d)", section), line
        command = re.search(r"`([^`]*)` \|$", line)
        assert command, line
        assert f"`{command[1]}`" in section, line


def test_quotations_are_found():
    found = QUOTED.findall(
        "[2.7 µs](docs/reference/figures.md#the-engine) [1.6 ms](figures_service.md#through-the-service)"
    )
    assert found == [("2.7 µs", "figures.md", "the-engine"), ("1.6 ms", "figures_service.md", "through-the-service")]
