# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The public names: one list, equal in both modules, each documented."""

import importlib
import importlib.resources
import pickle

import pytest

import superovoid

MODULES = ("contact", "scene", "shapes", "states", "robot")
INNER = [f"superovoid.{module}" for module in (*MODULES, "dataset", "planning", "fitting")]
METHODS = [
    f"superovoid_papers.methods.{paper}"
    for paper in ("goncalves2017", "lopes2010", "lower_bound", "sohn2002", "wellmann2008")
]
# Names that users and scripts import from these modules.
KEPT = {
    "superovoid": ("Superovoid", "distance", "distances", "Scene", "Body", "Robot", "state_distances"),
    "superovoid.robot": ("Robot",),
    "superovoid.states": ("state_distances",),
    "superovoid_ros.client": ("DistanceClient",),
}


def test_every_public_name_exists_and_is_documented():
    assert sorted(set(superovoid.__all__)) == sorted(superovoid.__all__)
    for name in superovoid.__all__:
        public = getattr(superovoid, name)
        assert public.__doc__ and name in dir(superovoid)
        assert pickle.loads(pickle.dumps(public)) is public


def test_names_of_engine_scenes_and_states_are_in_the_top_package():
    for module in ("contact", "scene", "states"):
        inner = importlib.import_module(f"superovoid.{module}")
        assert set(inner.__all__) <= set(superovoid.__all__)
    for name in superovoid.__all__:
        homes = [importlib.import_module(f"superovoid.{module}") for module in MODULES]
        assert any(name in home.__all__ for home in homes), name


def test_a_name_has_one_module_besides_the_top_package():
    doors = {}
    for module in (*INNER, *METHODS):
        for name in importlib.import_module(module).__all__:
            doors.setdefault(id(getattr(importlib.import_module(module), name)), []).append(f"{module}.{name}")
    assert not [each for each in doors.values() if len(each) > 1]


@pytest.mark.parametrize("module", KEPT)
def test_names_imported_by_scripts_stay(module):
    for name in KEPT[module]:
        assert hasattr(importlib.import_module(module), name)


def test_the_package_is_marked_as_typed():
    assert (importlib.resources.files("superovoid") / "py.typed").is_file()
