# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The bodies of the hands are as close to their links as stated."""

import numpy as np
import pytest

from superovoid import Superovoid
from superovoid.fitting.fit import measure
from superovoid.fitting.hulls import hull_points
from superovoid.robot.urdf import pose_matrix
from superovoid_ros.icub.hand_fits import fit_link
from superovoid_ros.icub.hand_models import FIGURES, FITS
from superovoid_ros.resources import read_yaml, share_directory

from draws import few_or_many

CONFIG = share_directory() / "config"
LINKS = {link["name"]: link for finger in read_yaml(CONFIG / FIGURES)["fingers"].values() for link in finger["links"]}
STORED = read_yaml(CONFIG / FITS)["links"]
KINDS = ("superellipsoid", "superovoid")


def stored_fit(link: str, kind: str):
    fit = STORED[link][kind]
    shape = Superovoid.from_goncalves(fit["size"], fit["epsilon"], fit["taper"])
    return shape, pose_matrix(fit["xyz"], fit["rpy"]), fit["residuals"]


@pytest.mark.ci
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", [pytest.param("superellipsoid", marks=pytest.mark.slow), "superovoid"])
@few_or_many(3000, 6000)
def test_bodies_of_the_hand_are_convex_and_close_to_links(link, kind, draws):
    shape, pose, claimed = stored_fit(link, kind)
    assert shape.convexity().convex
    assert (
        min((shape.section_exponent, shape.profile_exponent)) >= 0.1
        and max((shape.section_exponent, shape.profile_exponent)) <= 1.9
    )
    report = measure(shape, pose, hull_points(LINKS[link]["parts"]), samples=draws, seed=7)
    assert 1e3 * report.mean == pytest.approx(claimed["mean"], rel=0.05, abs=0.002)
    # No superellipsoid comes closer to the wedge of the thumb's base (docs/reference/hands.md).
    assert report.mean <= (0.51e-3 if (link, kind) == ("thumb_1", "superellipsoid") else 0.35e-3)
    assert report.maximum <= 2.3e-3
    assert abs(report.volume_ratio - 1.0) <= 0.03


def test_superovoids_are_at_least_as_close_as_superellipsoids():
    for fits in STORED.values():
        plain, tapered = (fits[kind]["residuals"]["rms"] for kind in KINDS)
        assert tapered <= 1.01 * plain


@pytest.mark.slow
def test_the_stored_fits_are_reproduced():
    fit = fit_link(LINKS["index_2"]["parts"], kinds=("superellipsoid",))["superellipsoid"]
    shape, pose, _ = stored_fit("index_2", "superellipsoid")
    # The last step of the optimiser may differ between machines.
    np.testing.assert_allclose(fit.shape.semi_axes, shape.semi_axes, rtol=1e-3)
    np.testing.assert_allclose(
        (fit.shape.section_exponent, fit.shape.profile_exponent),
        (shape.section_exponent, shape.profile_exponent),
        atol=1e-2,
    )
    np.testing.assert_allclose(fit.pose, pose, atol=1e-2)
