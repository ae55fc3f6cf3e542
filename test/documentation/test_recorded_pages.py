# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pages that move, as a build of the site writes them."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import recorded_pages

    return recorded_pages


@pytest.mark.parametrize(("name", "least"), [("sweep", 214), ("bite", 50), ("grasp", 200), ("fitted", 1)])
def test_a_recording_of_the_site_is_whole(pages, name, least):
    recording = pages.PAGES[name][2]()
    assert len(recording.moments) >= least
    assert not any(moment.unknown for moment in recording.moments)
    assert np.all(np.diff(recording.seconds) > 0.0)


def test_the_page_that_leads_to_them_has_a_link_to_each_that_was_written(pages, monkeypatch, tmp_path):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    monkeypatch.setattr(pages, "PAGES", {"fitted": pages.PAGES["fitted"]})
    pages.write(tmp_path)
    text = (tmp_path / "recordings.md").read_text(encoding="utf-8")
    assert text.count("<a href=") == 1 and '"../recordings/fitted.html"' in text
    page = (tmp_path / pages.FOLDER / "recordings/fitted.html").read_text(encoding="utf-8")
    assert 'id="moments"' in page and "Hands of the iCub, fitted" in page


def test_without_viser_the_site_says_that_they_are_missing(pages, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "PAGES", {"fitted": pages.PAGES["fitted"]})
    monkeypatch.setitem(sys.modules, "viser", None)
    pages.write(tmp_path)
    text = (tmp_path / "recordings.md").read_text(encoding="utf-8")
    assert "<a href=" not in text and "superovoid[view]" in text
