# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Measured figures stand once, in docs/reference/figures.md; what other pages quote of it is the same."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "reference" / "figures.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "generated" not in page.parts and page != FIGURES]
QUOTED = re.compile(r"\[([^]]*(?:\d|minute|second)[^]]*)\]\((?:[\w./]*/)?figures\.md(?:#([\w-]*))?\)")


def sections():
    """Text of figures.md by the anchors of its headings."""
    _, *parts = re.split(r"^## +(.*)$", FIGURES.read_text(encoding="utf-8"), flags=re.M)
    return {title.lower().replace(" ", "-"): text for title, text in zip(parts[::2], parts[1::2], strict=True)}


def rows():
    """Last cell and whole text of every row of the tables of figures.md with two columns."""
    return re.findall(r"^\| (.*) \| (\S.*?) \|$", FIGURES.read_text(encoding="utf-8"), re.M)


def test_no_quantity_has_two_figures():
    quantities = [quantity for quantity, _ in rows() if not set(quantity) <= set("-| ")]
    assert len(quantities) > 20
    assert len(set(quantities)) == len(quantities)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_quoted_figures_are_those_of_the_page_of_figures(page):
    known = sections()
    for figure, anchor in QUOTED.findall(page.read_text(encoding="utf-8")):
        assert anchor, f"{figure!r} names no section of figures.md"
        assert re.search(rf"(?<![\d.,]){re.escape(' '.join(figure.split()))}(?![\d.,]\d)", known[anchor]), figure


def test_each_figure_of_the_readme_is_a_quotation_and_has_the_command_of_its_section():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^## Five figures\n(.*?)^## ", text, re.M | re.S)[1]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 5
    for line in lines:
        quoted = QUOTED.search(line)
        assert quoted, line
        command = re.search(r"`([^`]*)` \|$", line)
        assert command, line
        assert f"`{command[1]}`" in sections()[quoted[2]], line


def test_a_quotation_with_another_figure_is_found():
    wrong = QUOTED.findall("[2.7 µs](docs/reference/figures.md#the-engine) [1.6 ms](figures.md#through-the-service)")
    assert wrong == [("2.7 µs", "the-engine"), ("1.6 ms", "through-the-service")]
    assert "2.7 µs" not in sections()["the-engine"]
