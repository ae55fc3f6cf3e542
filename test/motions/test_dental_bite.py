# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bite of the molars against published and measured values."""

from dataclasses import replace

import numpy as np
import pytest

from superovoid.robot import Robot
from superovoid_ros.motions.dental_bite import DentalBite, read_bite
from superovoid_ros.motions.replays import REPLAYS
from superovoid_ros.resources import share_directory

ROBOT, BITE = read_bite()


@pytest.fixture(scope="module")
def answers():
    """Return the signed distances of all 64 pairs of surfaces, one row per frame."""
    scene = ROBOT.scene()
    found = []
    for frame in BITE:
        scene.set_link_poses(ROBOT.forward_kinematics(frame.positions, frame.base_poses))
        result = scene.query()
        assert len(result) == 64
        found.append(result)
    return found


def test_two_crowns_of_eight_surfaces_face_each_other():
    assert [body.link for body in ROBOT.bodies] == ["lower_molar"] * 8 + ["upper_molar"] * 8
    assert len(ROBOT.body_pairs()) == 64
    assert ROBOT.joint_names == (BITE.joint,) and not ROBOT.base_links


def test_crowns_have_the_size_of_first_molars():
    sizes = []
    for link in ("lower_molar", "upper_molar"):
        corners = []
        for body in ROBOT.bodies:
            if body.link == link:
                low, high = body.shape.aabb(body.link_from_body[:3, :3])
                corners += [low + body.link_from_body[:3, 3], high + body.link_from_body[:3, 3]]
        sizes.append(np.ptp(corners, axis=0))
    # Mesiodistal and buccolingual, mm, of textbooks; 5 % either way. The height goes on below the crown's neck.
    np.testing.assert_allclose(1e3 * np.array(sizes)[:, :2], [[11.0, 10.5], [10.4, 11.5]], rtol=0.05)


def test_it_closes_and_opens_by_equal_steps_within_the_joint_limits():
    heights = np.array([frame.height for frame in BITE])
    assert len(heights) == 181
    np.testing.assert_allclose(np.abs(np.diff(heights)), 0.113693e-3, rtol=1e-9)
    assert np.argmin(heights) == 79
    lower, upper = ROBOT.joint_limits[BITE.joint]
    assert lower < heights.min() and heights.max() < upper
    assert BITE.frame(0).positions == {"bite": 0.0182834}


def test_it_may_turn_between_two_frames():
    bite = replace(BITE, turn_frame=1.5, start=1.0, step=0.25, frames=4)
    assert [frame.height for frame in bite] == [1.0, 0.75, 0.75, 1.0]


def test_teeth_overlap_in_frames_47_to_111_as_in_the_paper(answers):
    contact = [i for i, result in enumerate(answers) if result.distance.min() < 0.0]
    assert contact == list(range(47, 112))
    published = REPLAYS["bite"].published
    assert (contact[0], contact[-1]) == (published["first contact, frame"], published["last contact, frame"])
    # Counted by an independent program when the crowns were drawn.
    assert sum(int((result.distance < 0.0).sum()) for result in answers) == 940


def test_boxes_first_overlap_in_frame_28_as_in_the_paper():
    boxes = np.array([body.shape.aabb(body.link_from_body[:3, :3]) for body in ROBOT.bodies])
    boxes += np.array([body.link_from_body[:3, 3] for body in ROBOT.bodies])[:, None]
    meeting = []
    for frame in BITE:
        upper = boxes[8:] + np.array([0.0, 0.0, frame.height])
        meet = (boxes[:8, None, 0] <= upper[None, :, 1]) & (upper[None, :, 0] <= boxes[:8, None, 1])
        meeting.append(int(meet.all(axis=2).sum()))
    frames = np.flatnonzero(meeting)
    # Counted by the same independent program; the paper's boxes separate after frame 133.
    assert (frames[0], frames[-1], sum(meeting)) == (28, 130, 1958)


def test_only_answers_of_bodies_with_a_microscopic_concavity_are_unproved(answers):
    non_convex = {i for i, body in enumerate(ROBOT.bodies) if not body.shape.convexity().convex}
    assert [ROBOT.bodies[i].name for i in sorted(non_convex)] == ["lower_molar/0", "upper_molar/0"]
    assert max(ROBOT.bodies[i].shape.convexity().concavity for i in non_convex) < 1e-12
    for result in answers:
        for row in np.flatnonzero(result.status):
            assert {result.body_a[row], result.body_b[row]} & non_convex
        assert np.all(result.upper - result.lower < 1e-8)  # 10 nm; 2e-16 m if proved


@pytest.mark.parametrize("index", [-1, 181])
def test_a_missing_frame_is_an_error(index):
    with pytest.raises(IndexError, match="frames 0 to 180"):
        BITE.frame(index)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frames": 0}, "DentalBite.frames = 0: must be an integer of at least 1"),
        ({"start": float("nan")}, "DentalBite.start = nan: must be a finite number"),
        ({"step": -1.0}, "DentalBite.step = -1.0: must be positive"),
        ({"joint": 3}, "DentalBite.joint = 3: must be the name of a joint"),
    ],
)
def test_bad_parameters_are_errors_with_their_names(change, message):
    with pytest.raises(ValueError, match=message):
        replace(BITE, **change)


def test_a_bad_file_is_an_error_with_its_name(tmp_path):
    path = tmp_path / "bite.yaml"
    path.write_text("joint: bite\n")
    with pytest.raises(ValueError, match="missing") as error:
        DentalBite.from_file(path)
    assert "bite.yaml" in str(error.value)


@pytest.mark.parametrize(("name", "pairs"), [("hands", 94374), ("arms", 94374), ("bite", 11584)])
def test_every_motion_has_its_files_and_the_published_number_of_pairs(name, pairs):
    replay, share = REPLAYS[name], share_directory()
    srdf = share / "config" / f"{replay.robot}.srdf"
    robot = Robot.from_urdf(
        (share / "urdf" / f"{replay.robot}.urdf").read_text(encoding="utf-8"),
        srdf=srdf.read_text(encoding="utf-8") if srdf.is_file() else None,
    )
    motion = replay.kind.from_file(share / "config" / replay.config)
    assert len(motion) * len(robot.body_pairs(*replay.links)) == pairs
