# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The public names: one list, the same at both doors, each documented."""

import importlib
import importlib.resources
import pickle

import pytest

import superovoid

MODULES = ("contact", "scene", "shapes", "states", "robot")
# Names that users and scripts import by these modules.
KEPT = {
    "superovoid": ("Superovoid", "distance", "distances", "Scene", "Body", "Robot", "state_distances"),
    "superovoid.robot": ("Robot",),
    "superovoid.states": ("state_distances",),
    "superovoid_ros.client": ("DistanceClient",),
}


def test_every_public_name_is_there_and_documented():
    assert sorted(set(superovoid.__all__)) == sorted(superovoid.__all__)
    for name in superovoid.__all__:
        public = getattr(superovoid, name)
        assert public.__doc__ and name in dir(superovoid)
        assert pickle.loads(pickle.dumps(public)) is public


def test_names_of_the_engine_scenes_and_states_are_all_at_the_top():
    for module in ("contact", "scene", "states"):
        inner = importlib.import_module(f"superovoid.{module}")
        assert set(inner.__all__) <= set(superovoid.__all__)
    for name in superovoid.__all__:
        homes = [importlib.import_module(f"superovoid.{module}") for module in MODULES]
        assert any(name in home.__all__ for home in homes), name


@pytest.mark.parametrize("module", KEPT)
def test_names_that_scripts_import_stay(module):
    for name in KEPT[module]:
        assert hasattr(importlib.import_module(module), name)


def test_the_package_says_that_it_has_types():
    assert (importlib.resources.files("superovoid") / "py.typed").is_file()
