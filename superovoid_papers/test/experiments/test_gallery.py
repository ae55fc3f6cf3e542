# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`superovoid experiment gallery`: a picture of each robot in the colours of its verdicts."""

import numpy as np
import pytest
import trimesh

from superovoid.fitting import fit_robot
from superovoid.fitting.report_page import VERDICT_COLOURS
from superovoid_papers.commands.experiment import EXPERIMENTS
from superovoid_papers.experiments import gallery

ROBOT = """<robot name="r">
<link name="bar"><collision><geometry><mesh filename="package://pkg/bar.stl"/></geometry></collision></link>
<link name="stand"><collision><geometry><box size="0.3 0.3 0.05"/></geometry></collision></link>
<joint name="j" type="fixed"><parent link="stand"/><child link="bar"/><origin xyz="0 0 0.2"/></joint></robot>"""


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot")
    trimesh.creation.box((0.125, 0.0625, 0.25)).export(folder / "bar.stl")
    return fit_robot(ROBOT, package_directories={"pkg": folder}, bodies=1, kinds=("box",))


def test_picture_has_the_colours_of_the_verdicts(fit):
    picture = gallery.picture(fit)
    assert picture.shape == (gallery._PIXELS, gallery._PIXELS, 3) and picture.dtype == np.uint8
    drawn = picture[(picture != 255).any(axis=2)].astype(float)
    is_grey = np.ptp(drawn, axis=1) == 0.0  # the stand, which has no fit
    assert 0.05 < is_grey.mean() < 0.95
    colour = np.array(VERDICT_COLOURS["good"])
    share = drawn[~is_grey] @ colour / (colour @ colour)
    np.testing.assert_allclose(drawn[~is_grey], share[:, None] * colour, atol=1.0)
    assert gallery._DARKEST - 0.01 <= share.min() and share.max() <= 1.01


def test_rows_and_table_have_the_verdicts(fit):
    (row,) = gallery.rows_of("Robot", fit)
    assert (row.robot, row.link, row.verdict, row.bodies) == ("Robot", "bar", "good", 1) and row.error < row.tolerance
    cells = {column.header: list(column.cells) for column in gallery.table({"Robot": fit}).columns}
    assert cells["verdicts"] == ["1 of 1 links good at 1 % of each link"] and cells["worst link"] == ["bar"]
    assert len(gallery.plot({"Robot": fit}).axes) == 1


def test_the_command_knows_the_robots():
    assert EXPERIMENTS["gallery"][2]["robots"] == tuple(gallery.GALLERY)
