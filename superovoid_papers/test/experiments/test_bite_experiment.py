# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The experiment `bite`: its contenders, its meshes, its table."""

import csv
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree

from superovoid_papers.experiments.goncalves2017 import bite
from superovoid_papers.methods import goncalves2017
from superovoid_papers.methods.goncalves2017 import newton_schemes
from superovoid_ros.motions.dental_bite import LOWER, read_bite

pytestmark = pytest.mark.ci

ROBOT, WHOLE = read_bite()
# Separate boxes, overlapping boxes, contact, and deep overlap.
FRAMES = (10, 40, 60, 79)


class _FewFrames:
    """Some frames of the bite."""

    def __iter__(self):
        return (WHOLE.frame(index) for index in FRAMES)


@pytest.fixture(scope="module")
def contenders():
    """Return contenders after each of the frames: (frame, quadImplicit's, the scene's)."""
    paper, scene = bite.QuadImplicit(ROBOT, coherent=False), bite.EngineScene(ROBOT, closest_only=False)
    found = []
    for frame in _FewFrames():
        poses = ROBOT.forward_kinematics(frame.positions)
        for contender in (paper, scene):
            contender.place(poses)
        least = paper.ask(), scene.ask()
        found.append((poses, least, paper.pairs.near.copy(), paper.pairs.out.copy(), scene.result))
    return paper, found


def test_exactly_the_pairs_with_overlapping_boxes_are_solved(contenders):
    paper, found = contenders
    for poses, _, near, _, _ in found:
        boxes = []
        for body in ROBOT.bodies:
            pose = poses[body.link] @ body.link_from_body
            boxes.append(np.array(body.shape.aabb(pose[:3, :3])) + pose[:3, 3])
        for row, (i, j) in enumerate(paper._rows):
            gap = np.maximum(boxes[i][0] - boxes[8 + j][1], boxes[8 + j][0] - boxes[i][1]).max()
            if abs(gap) > 1e-9:
                assert near[row] == (gap < 0.0)


def test_rows_of_pairs_belong_to_their_bodies(contenders):
    paper, found = contenders
    _, _, near, out, result = found[1]
    rows = paper.row_of(result.body_a, result.body_b)
    assert sorted(rows) == list(range(64))
    truth = np.empty(64)
    truth[rows] = result.distance
    assert near.any() and (truth > 0.0).any()
    # quadImplicit is right for nearly all separate, near pairs, so equal distances identify the pairs.
    right = np.abs(out[near, newton_schemes.DISTANCE] - truth[near]) < 1e-9
    assert right.mean() > 0.8


def test_frame_distance_is_infinite_without_overlapping_boxes_and_else_the_scenes(contenders):
    _, found = contenders
    (_, apart, near_apart, _, _), (_, meeting, near, _, result), *_ = found
    assert not near_apart.any() and apart[0] == np.inf and apart[1] > 2e-3
    assert near.any() and meeting[0] >= meeting[1] == result.distance[0]


def test_failures_are_counted_against_the_certified_distances(contenders):
    _, found = contenders
    counts = bite.count_failures(ROBOT, _FewFrames(), coherent=False)
    assert counts.solved == sum(int(near.sum()) for _, _, near, _, _ in found)
    unconverged = sum(int((out[near, newton_schemes.CONVERGED] == 0.0).sum()) for _, _, near, out, _ in found)
    assert counts.unconverged == unconverged > 0
    assert counts.apart + counts.shallow + counts.deep == counts.solved
    failed = counts.failed_apart + counts.failed_shallow + counts.failed_deep
    assert failed == counts.unconverged + counts.wrong and counts.too_deep <= counts.wrong
    assert counts.failed_apart / counts.apart < 0.1 < counts.failed_deep / counts.deep
    # Frame 40: boxes overlap, but not those of the closest pair.
    assert (counts.other_pair, counts.closest_right, counts.right_in_contact, counts.in_contact) == (1, 0, 0, 2)
    # Deep in the bite Newton's method from quadtree points finds other roots, too (docs/papers/goncalves2017_hands.md).
    assert counts.wrong > 0


def _play(paper, frames):
    """Return distances and unknowns of quadImplicit after each frame."""
    paper.begin()
    found = []
    for index in frames:
        paper.place(ROBOT.forward_kinematics(WHOLE.frame(index).positions))
        paper.ask()
        found.append((paper.pairs.near.copy(), paper.pairs.out.copy(), paper.pairs.unknowns.copy()))
    return found


def test_a_pair_starts_from_its_answer_in_the_last_frame():
    frames = range(60, 66)
    paper = bite.QuadImplicit(ROBOT)
    coherent = _play(paper, frames)
    poses = paper.pairs.poses_a, paper.pairs.poses_b
    for (_, before, unknowns), (near, out, _), index in zip(coherent, coherent[1:], frames[1:], strict=False):
        paper.place(ROBOT.forward_kinematics(WHOLE.frame(index).positions))
        went_on = 0
        for row in np.flatnonzero(near & (before[:, newton_schemes.CONVERGED] == 1.0)):
            i, j = paper._rows[row]
            bodies = paper.sides[0][i].shape, paper.sides[1][j].shape
            found = goncalves2017.distance(bodies[0], poses[0][row], bodies[1], poses[1][row], start=unknowns[row])
            if found.converged:
                went_on += 1
                assert out[row, newton_schemes.DISTANCE] == found.distance
                assert out[row, newton_schemes.ITERATIONS] == found.statistics.iterations
        assert went_on > 10


def test_temporal_coherence_keeps_more_answers_of_the_bite():
    class ClosingFrames:
        """Frames from the first overlapping boxes to the middle of the bite."""

        def __iter__(self):
            return (WHOLE.frame(index) for index in range(26, 80))

    coherent, alone = (bite.count_failures(ROBOT, ClosingFrames(), coherent=coherent) for coherent in (True, False))
    assert coherent.solved == alone.solved and coherent.in_contact == alone.in_contact == 33
    assert 5 * coherent.unconverged < alone.unconverged
    assert coherent.closest_right > 2 * alone.closest_right
    assert coherent.right_in_contact > 2 * alone.right_in_contact


def test_a_bite_begins_without_earlier_answers():
    paper = bite.QuadImplicit(ROBOT)
    first = _play(paper, (70, 71))
    again = _play(paper, (70, 71))
    for (_, out, _), (_, other, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(out, other)


def test_a_frame_is_wrong_if_another_pair_is_too_deep():
    counts = bite.count_failures(ROBOT, (WHOLE.frame(index) for index in range(47, 112)), coherent=False)
    assert counts.right_in_contact < counts.closest_right <= counts.in_contact == 65


def test_experiment_writes_a_table_and_plots(tmp_path, monkeypatch, capsys):
    short = replace(WHOLE, frames=2, start=WHOLE.frame(50).height, turn_frame=1.0)
    monkeypatch.setattr(bite, "read_bite", lambda: (ROBOT, short))
    monkeypatch.setattr(bite, "union_mesh", _no_meshes)
    assert bite.main(1, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "No module named 'skimage'" in printed and "pip install 'superovoid_papers[bench]'" in printed
    assert "certified answers: 128, of which" in printed  # 64 pairs, two frames
    assert "a new guess every frame" in printed and "contact in frames 0 to 1" in printed
    lines = (tmp_path / "bite.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# superovoid experiment bite --rounds 1")
    assert lines[2] == "frame,contender,frame_us,distance_m,answers"
    assert len(lines) == 3 + 4 * 2
    times = [float(row["frame_us"]) for row in csv.DictReader(lines[2:])]
    assert all(0.0 < value < 1e6 for value in times)
    for name in ("bite.png", "bite_teeth.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def _no_meshes(bodies, pitch):
    raise ModuleNotFoundError("No module named 'skimage'")


def test_union_meshes_have_the_papers_sizes_and_the_right_surface():
    pytest.importorskip("skimage", reason="pip install 'superovoid_papers[bench]'")
    bodies = [body for body in ROBOT.bodies if body.link == LOWER]
    rng = np.random.default_rng(0)
    for count, pitch in bite.PITCHES.items():
        vertices, triangles = bite.union_mesh(bodies, pitch)
        assert len(triangles) == pytest.approx(count, rel=0.05)
        mesh = trimesh.Trimesh(vertices, triangles)
        assert mesh.is_watertight and mesh.volume > 0.0
        # Points on the surface of one superovoid only lie on the surface of the union.
        outer = []
        for body in bodies:
            angles = rng.uniform([-0.5 * np.pi, -np.pi], [0.5 * np.pi, np.pi], (400, 2)).T
            points = body.shape.surface_point(*angles) @ body.link_from_body[:3, :3].T + body.link_from_body[:3, 3]
            for other in bodies:
                local = (points - other.link_from_body[:3, 3]) @ other.link_from_body[:3, :3]
                points = points[(other is body) | (other.shape.implicit(local) > 0.0)]
            outer.append(points)
        samples, _ = trimesh.sample.sample_surface(mesh, 200_000, seed=1)
        gaps, _ = cKDTree(samples).query(np.concatenate(outer))
        # Meshes cut creases by a part of a cube's edge; elsewhere the gap is a sagitta and the samples' spacing.
        assert np.median(gaps) < 0.1 * pitch + 3e-5 and gaps.max() < pitch
