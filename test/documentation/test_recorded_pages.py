# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interactive pages that a build of the site writes."""

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
def test_recordings_of_the_site_are_complete(pages, name, least):
    recording = pages.PAGES[name][2]()
    assert len(recording.moments) >= least
    assert not any(moment.unknown for moment in recording.moments)
    assert np.all(np.diff(recording.seconds) > 0.0)


def test_the_page_of_recordings_embeds_each_written_recording(pages, monkeypatch, tmp_path):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    monkeypatch.setattr(pages, "PAGES", {"fitted": pages.PAGES["fitted"]})
    pages.write(tmp_path)
    text = (tmp_path / "recordings.md").read_text(encoding="utf-8")
    assert text.count("<iframe") == 1 and "src='../recordings/fitted.html'" in text
    page = (tmp_path / pages.FOLDER / "recordings/fitted.html").read_text(encoding="utf-8")
    assert 'id="moments"' in page and "Hands of the iCub, fitted" in page


def test_without_viser_the_site_names_the_missing_extra(pages, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "PAGES", {"fitted": pages.PAGES["fitted"]})
    monkeypatch.setitem(sys.modules, "viser", None)
    pages.write(tmp_path)
    text = (tmp_path / "recordings.md").read_text(encoding="utf-8")
    assert "<iframe" not in text and "superovoid[view]" in text
