# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page and the file of a recording: the timeline, with and without a browser."""

import itertools
import json
import re
import time

import numpy as np
import pytest

from superovoid import Box
from superovoid.cli import main
from superovoid.viewing.meanings import COLOURS, Meaning, interval_words
from superovoid.viewing.recording import Moment, Recording, ReplayModel

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing.html_file import page_of, write_html
from superovoid.viewing.replay_page import Player, ReplayPage
from superovoid.viewing.serving import open_server

import hands
from tabs import seen_when

LONG = 600.0  # s, reached only by failing tests
FRAMES = range(40, 60)  # of the bite; the first contact is in frame 47
UNKNOWN = 55


def bite(*, has_unknown=True):
    robot, motion = hands.bite()
    moments = [Moment(frame, motion.frame(frame).positions) for frame in FRAMES]
    if has_unknown:  # the robot stays in its previous state there
        moments[UNKNOWN - FRAMES[0]] = Moment(UNKNOWN, {}, unknown="it was not <recorded>")
    return ReplayModel(Recording("bite </script><b>", robot, moments))


@pytest.fixture
def page():
    page = ReplayPage(open_server("bite"), bite())
    with page.viewer:
        assert page.viewer.refresher.wait(LONG) and page._measurer.wait(LONG)
        yield page


def wait_until(holds):
    """Wait until a condition holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_timeline_moves_the_robot_and_draws_the_curve(page):
    assert (page._track.meaning[:7] < Meaning.OVERLAPPING).all()
    assert (page._track.meaning[7:15] == Meaning.OVERLAPPING).all()
    page._slider.value = 10
    assert page.viewer.refresher.wait(LONG)
    lower, upper = page._track.lower[10], page._track.upper[10]
    assert interval_words(lower, upper) in page._headline.content
    assert "frame 50 (11 of 20)" in page._moment_text.content
    assert 'class="cursor"' in page._cursor.content and 'class="cursor"' not in page._plot.content


def test_an_unknown_moment_is_shown_as_not_decided(page):
    page._slider.value = UNKNOWN - FRAMES[0]
    assert page.viewer.refresher.wait(LONG)
    assert "it was not &lt;recorded&gt;" in page._moment_text.content and "unknown: it was" in page._headline.content
    assert np.isnan(page._track.lower[UNKNOWN - FRAMES[0]])
    assert {drawn.looks[0] for drawn in page._canvas._bodies.values()} == {COLOURS[Meaning.UNKNOWN]}


def test_a_late_picture_is_labelled_with_its_own_moment(page):
    page.model.seek(3)
    picture = page.model.answer()
    page.model.seek(9)
    page._write(picture)
    assert "frame 43 (4 of 20)" in page._moment_text.content


def test_an_added_object_updates_the_distances_of_all_moments(page):
    before = page._track.lower[0]
    page._add_object(lambda: Box((2.0, 2.0, 2.0)), "box")
    page._change(lambda: page.model.move_object("box_1", np.eye(4)), scene=True)
    wait_until(lambda: page._measurer.wait(LONG) and page._track.meaning[0] == Meaning.OVERLAPPING)
    assert page._track.lower[0] < before


def test_playback_pauses_at_the_end_without_repeat(page):
    page._player.repeat = False
    page._player.speed = 5.0
    page._player.play(True)
    wait_until(lambda: not page._player.playing)
    wait_until(lambda: page.model.index == len(FRAMES) - 1)
    assert page.viewer.refresher.wait(LONG)
    assert page._slider.value == len(FRAMES) - 1


def test_a_slider_following_the_player_does_not_move_the_robot_back(page):
    page._show_due(5)
    assert page.viewer.refresher.wait(LONG) and page._slider.value == 5
    page._show_due(6)
    page._on_slider(5, by_hand=False)  # a late event: the page itself set the slider
    assert page.model.index == 6
    page._on_slider(3, by_hand=True)
    assert page.viewer.refresher.wait(LONG)
    assert page.model.index == 3 and page._slider.value == 5  # set by the user: it stays there


def test_a_player_advances_to_the_due_moment():
    player = Player(np.array([0.0, 0.5, 2.0]), lambda index: None)
    try:
        assert [player.advance(0.4), player.advance(0.2), player.advance(1.3), player.advance(0.1)] == [0, 1, 1, 2]
        assert player.advance(0.5) == 1  # 2.5 s: wraps around to 0.5 s
        player.repeat, player.playing = False, True
        assert player.advance(100.0) == 2 and not player.playing
    finally:
        player.close()


def test_a_file_contains_the_escaped_text_of_each_moment(tmp_path):
    model = bite()
    text = page_of(model)
    panel = text[text.index('<details id="panel"') :]
    assert "bite &lt;/script&gt;&lt;b&gt;" in panel and "</script><b>" not in panel
    moments = json.loads(re.search(r'id="moments">(.*?)</script>', panel, re.DOTALL)[1])
    assert len(moments["words"]) == len(FRAMES)
    model.seek(10)
    assert moments["words"][10].startswith(f"frame 50: {model.answer().least.words}")
    assert moments["words"][UNKNOWN - FRAMES[0]] == "frame 55: unknown: it was not <recorded> (not decided)"


def test_an_unwritable_file_is_reported_before_computing(tmp_path, capsys):
    assert main(["view", "--html", str(tmp_path / "none" / "p.html")]) == 2
    assert "none" in capsys.readouterr().err
    with pytest.raises(OSError):
        write_html(bite(), tmp_path / "none" / "p.html")


def test_an_interrupted_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "p.html"
    path.write_text("before")

    def stop(index):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_html(bite(), path, stop)
    assert path.read_text() == "before" and [one.name for one in tmp_path.iterdir()] == ["p.html"]


@pytest.mark.ci
def test_the_timeline_of_a_file_seeks_without_server_and_network(tab, tmp_path):
    model, path = bite(), tmp_path / "bite.html"
    write_html(model, path)
    assert path.stat().st_size < 2e6
    page = tab.page
    tab.open(f"file://{path}")
    slider = page.locator("[role=slider]").first
    slider.wait_for(state="attached")
    page.locator(".mantine-ActionIcon-root").first.click()  # pause
    box, last = page.locator(".mantine-Slider-root").bounding_box(), len(FRAMES) - 1
    for frame, meaning in ((42, Meaning.APART), (52, Meaning.OVERLAPPING), (UNKNOWN, Meaning.UNKNOWN)):
        index = frame - FRAMES[0]
        page.mouse.click(box["x"] + box["width"] * (index + 0.5) / (last + 1), box["y"] + 0.5 * box["height"])
        page.wait_for_function(f"document.querySelector('#panel .state').textContent.startsWith('frame {frame}:')")
        model.seek(index)
        state = page.locator("#panel .state")
        assert model.answer().least.words in state.inner_text()
        assert state.evaluate("node => node.style.borderColor") == "rgb({}, {}, {})".format(*COLOURS[meaning])
    assert tab.troubles == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in tab.requested)


@pytest.mark.ci
@pytest.mark.parametrize(("width", "opens"), [(390, False), (1280, True)])
def test_the_panel_of_a_file_opens_folded_on_a_phone(tab, tmp_path, width, opens):
    write_html(bite(), tmp_path / "bite.html")
    page = tab.page
    page.set_viewport_size({"width": width, "height": 844})
    tab.open(f"file://{tmp_path / 'bite.html'}")
    page.wait_for_function("document.querySelector('#panel .state').textContent !== ''")
    assert page.locator("#panel .legend").is_visible() is opens
    assert page.locator("#panel").bounding_box()["height"] < 844 * (0.5 if opens else 0.2)
    page.locator("#panel summary").evaluate("node => node.click()")  # a notice of the renderer may lie over it
    assert page.locator("#panel .legend").is_visible() is not opens
    assert page.locator("#panel .state").is_visible()


def blocks(picture):
    """Return mean colours of squares of the scene, left of the text and above the timeline."""
    scene = picture[:736, :784]
    return scene.reshape(46, 16, 49, 16, 3).mean(axis=(1, 3))


def at_rest(tab, path, beside="#panel .state"):
    """Return the scene after it has stopped changing, and the text next to it."""
    before = None
    while True:
        words = tab.page.locator(beside).first.inner_text()
        now = blocks(tab.picture(path))
        if before is not None and before[0] == words and np.abs(now - before[1]).max() < 0.01:
            return before
        before = words, now


def agree(scenes, found):
    """Check that a scene matches the earlier scene with the same text; return the text."""
    # Edges differ: the player draws with fewer pixels while the browser is busy.
    off = {words: np.abs(scene - found[1]) for words, scene in scenes.items()}
    assert found[0] == min(off, key=lambda words: off[words].mean()) and off[found[0]].max() < 0.1
    return found[0]


@pytest.mark.slow
def test_text_and_scene_of_a_file_show_the_same_moment(tab, tmp_path):
    write_html(bite(), tmp_path / "bite.html")
    page, picture, count = tab.page, tmp_path / "seen.png", len(FRAMES)
    tab.open(f"file://{tmp_path / 'bite.html'}")
    page.locator("[role=slider]").first.wait_for(state="attached")
    page.locator(".mantine-ActionIcon-root").first.click()  # pause
    box = page.locator(".mantine-Slider-root").bounding_box()
    seen_when(tab, picture, lambda seen: np.ptp(blocks(seen)[20:30]) > 0.5)  # after fading in

    def seen_at(place):
        page.mouse.click(box["x"] + min(box["width"] * place, box["width"] - 0.1), box["y"] + 0.5 * box["height"])
        return at_rest(tab, picture)

    scenes = {}
    for index in range(count):
        words, scene = seen_at((index + 0.5) / count)
        assert words.startswith(f"frame {FRAMES[index]}:")
        scenes[words] = scene
    assert all(np.abs(scenes[one] - scenes[other]).max() > 0.05 for one, other in itertools.pairwise(scenes))
    assert agree(scenes, seen_at(1.0)).startswith("frame 40:")  # the player resets its slider to the beginning
    for index in (12, 3, 19, 0, 7, 15, 6, 14):
        assert agree(scenes, seen_at((index + 0.5) / count)).startswith(f"frame {FRAMES[index]}:")
    for _ in range(6):
        was = page.locator("#panel .state").inner_text()
        page.keyboard.press("Space")  # play
        page.wait_for_function("was => document.querySelector('#panel .state').textContent !== was", arg=was)
        page.wait_for_timeout(700.0)  # the recording lasts a second
        page.keyboard.press("Space")
        agree(scenes, at_rest(tab, picture))
    assert tab.troubles == []


@pytest.mark.ci
def test_a_file_with_one_moment_has_no_timeline(tab, tmp_path):
    recording = bite().recording
    model = ReplayModel(Recording("one", recording.robot, recording.moments[:1]))
    write_html(model, tmp_path / "one.html")
    tab.open(f"file://{tmp_path / 'one.html'}")
    tab.page.get_by_text(model.answer().least.words).wait_for()
    assert not tab.page.locator(".mantine-Slider-root").is_visible()


@pytest.mark.slow
def test_the_timeline_of_a_page_seeks_and_plays(page, tab):
    tab.open(page.viewer)
    tab.page.get_by_text("Clearance").first.wait_for()
    tab.set_number("moment", 10)
    tab.page.get_by_text("frame 50 (11 of 20)").wait_for()
    wait_until(lambda: page.model.index == 10)
    tab.page.get_by_text(interval_words(page._track.lower[10], page._track.upper[10])).first.wait_for()
    tab.page.get_by_role("button", name="play").click()
    wait_until(lambda: page.model.index != 10)
    tab.page.get_by_role("button", name="pause").click()
    wait_until(lambda: not page._player.playing)
    assert tab.troubles == []


@pytest.mark.slow
def test_text_and_scene_of_a_served_page_show_the_same_moment(tab, tmp_path):
    page = ReplayPage(open_server("bite"), bite(has_unknown=False))
    with page.viewer:
        _check_served(page, tab, tmp_path)


def _check_served(page, tab, tmp_path):
    picture, count = tmp_path / "seen.png", len(FRAMES)
    tab.open(page.viewer)
    tab.page.get_by_text("Clearance").first.wait_for()
    seen_when(tab, picture, lambda seen: np.ptp(blocks(seen)[20:30]) > 0.5)  # after fading in
    words = f"text=/^frame \\d+ \\(\\d+ of {count}\\)/"

    def seen_at(index):
        tab.set_number("moment", index)
        tab.page.get_by_text(f"frame {FRAMES[index]} ({index + 1} of {count})").wait_for()
        return at_rest(tab, picture, words)

    wait_until(lambda: page._measured == count)
    scenes = dict(seen_at(index) for index in (1, *range(count)))  # setting a slider at 0 to 0 has no effect
    assert len(scenes) == count
    for index in (12, 3, 19, 0, 7, 15, 6, 14):
        assert agree(scenes, seen_at(index)).startswith(f"frame {FRAMES[index]} ")
    for _ in range(6):
        was = page.model.index
        tab.page.get_by_role("button", name="play").click()
        wait_until(lambda was=was: page.model.index != was)
        tab.page.get_by_role("button", name="pause").click()
        wait_until(lambda: not page._player.playing)
        agree(scenes, at_rest(tab, picture, words))
    assert tab.troubles == []
