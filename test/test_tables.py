# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every CSV file has the units of its columns in their names, and tables on the terminal use the same words."""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import get_type_hints

import pytest

import superovoid
import superovoid_papers
import superovoid_ros
from superovoid.output import UNITS, CsvRow, heading, write_csv
from superovoid_papers.benchmarks import scale
from superovoid_papers.contenders import explain_missing
from superovoid_papers.experiments.goncalves2017 import accuracy, first_guesses, memory, suggestions, superovoid_battery
from superovoid_papers.experiments.lopes2010 import free_bodies, prescribed_motions
from superovoid_papers.experiments.lower_bound import places, tables
from superovoid_papers.experiments.sohn2002 import line_geometry
from superovoid_ros.icub import grasp_problem
from superovoid_ros.tools import service_load

# Whole numbers in columns outside a `CsvRow`, and lengths in units of a body.
UNITLESS = re.compile(r"\w+_of_size|flags?|seed")


def row_kinds():
    for module in pkgutil.walk_packages(superovoid_papers.__path__, "superovoid_papers."):
        importlib.import_module(module.name)
    for module in ("replay_report", "service_load"):
        importlib.import_module(f"superovoid_ros.tools.{module}")
    found = [kind for kind in CsvRow.__subclasses__() if kind.__module__.startswith("superovoid")]
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def has_unit(name):
    return name.endswith(tuple(f"_{unit}" for unit in UNITS))


def test_only_two_modules_write_csv_files():
    packages = [Path(package.__file__).parent for package in (superovoid, superovoid_papers, superovoid_ros)]
    sources = [path for package in packages for path in package.rglob("*.py")]
    writers = {path.name for path in sources if re.search(r"csv\.(Dict)?writer\(", path.read_text(), re.I)}
    # The second writes rows one by one, of recordings larger than memory.
    assert writers == {"output.py", "distance_tables.py"}


@pytest.mark.parametrize("kind", row_kinds(), ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_every_column_of_measured_numbers_ends_with_its_unit(kind):
    names, hints = kind.columns(), get_type_hints(kind)
    assert len(set(names.values())) == len(names)
    for one in kind.__dataclass_fields__.values():
        unitless = one.metadata.get("unitless", False)
        name = names[one.name]
        if hints[one.name] is float:
            assert has_unit(name) != unitless, f"{name}: a unit ({', '.join(UNITS)}), or unitless()"
        else:
            assert hints[one.name] in (int, str, bool), f"{name}: {hints[one.name]}"
            assert not unitless
            assert not has_unit(name), f"{name}: a name, a number of things or a truth value has no unit"
        assert re.fullmatch(r"[a-zA-Z0-9_.]+", name)


def sample(kind, /, **given):
    """Return a row with a value in every field."""
    values = {float: 1.5, int: 2, str: "some", bool: True}
    hints = get_type_hints(kind)
    return kind(**{name: values[hints[name]] for name in kind.__dataclass_fields__} | given)


TABLES = {
    "accuracy": (accuracy.Row, lambda: accuracy.table([sample(accuracy.Row)])),
    "battery": (
        superovoid_battery.Row,
        lambda: superovoid_battery.table([sample(superovoid_battery.Row, contender="quadImplicit")]),
    ),
    "first guesses": (first_guesses.Row, lambda: first_guesses.table([sample(first_guesses.Row)])),
    "suggestions": (suggestions.Row, lambda: suggestions.table([sample(suggestions.Row)])),
    "memory": (memory.Row, lambda: memory.table([sample(memory.Row)])),
    "motions": (prescribed_motions.Row, lambda: prescribed_motions.motion_table("", [sample(prescribed_motions.Row)])),
    "random pairs": (
        prescribed_motions.ColdStart,
        lambda: prescribed_motions.cold_table([sample(prescribed_motions.ColdStart)]),
    ),
    "dynamics": (free_bodies.Row, lambda: free_bodies.table([sample(free_bodies.Row)])),
    "lines": (
        line_geometry.Row,
        lambda: line_geometry.walk_table([sample(line_geometry.Row, scene=s.name) for s in line_geometry.SCENES]),
    ),
    "line pairs": (
        line_geometry.PairRow,
        lambda: line_geometry.pair_table([sample(line_geometry.PairRow, kind=kind) for kind in line_geometry.RANDOM]),
    ),
    "convex": (tables.Row, lambda: tables.convex_table([sample(tables.Row)])),
    "counts": (tables.Counts, lambda: tables.count_table([sample(tables.Counts)])),
    "insertion": (tables.Row, lambda: tables.insertion_table([sample(tables.Row)])),
    "places": (tables.Row, lambda: places.place_table([sample(tables.Row)])),
    "origins": (tables.Origins, lambda: tables.origin_table([sample(tables.Origins)])),
    "scale": (scale.Measurement, lambda: scale.table([sample(scale.Measurement)], 0)),
    "load": (service_load.Row, lambda: service_load.table([sample(service_load.Row)])),
}
# Further words of a heading: statistics, units, source of a figure.
BESIDE = {"paper", "mean", "median", "max", "min", "deviation", "of", "how", "many", "by", "fig", "off", "times", "the"}
BESIDE |= set(UNITS) | {
    "13",
    "numbers",
    "size",
    "26",
    "random",
    "tilts",
    "a",
    "contact",
    "with",
    "1",
    "m",
    "pairs",
    "not",
}


@pytest.mark.parametrize(("kind", "table"), TABLES.values(), ids=TABLES)
def test_headings_on_the_terminal_use_words_of_the_file(kind, table):
    shown = table()
    known = {word for column in kind.columns().values() for word in column.split("_")}
    for column in shown.columns:
        words = re.findall(r"[a-zA-Z0-9.]+", str(column.header).lower())
        assert words, f"a column of '{shown.title}' has no heading"
        strange = {word.strip(".") for word in words} - {word.lower() for word in known} - BESIDE
        assert not strange, f"'{column.header}' of '{shown.title}': {strange} in none of {sorted(known)}"


def test_columns_that_depend_on_options_have_units_too():
    problem = grasp_problem.read_example().problem
    joints = grasp_problem.joint_columns(problem)
    assert {"left_distance_m", "right_swing_rad"} <= set(joints) and all(map(has_unit, joints))


def test_headings_follow_from_the_column_names():
    assert heading("distance_error_median_m") == "distance error median, m"
    assert heading("calls_per_s") == "calls, per s"
    assert heading("p99.9_ms") == "p99.9, ms"
    assert heading("not_converged") == "not converged"


def test_comments_precede_the_column_names(tmp_path):
    write_csv(tmp_path / "origins.csv", [sample(tables.Origins)], "the command", "the machine")
    text = (tmp_path / "origins.csv").read_text(encoding="utf-8").splitlines()
    assert text[:3] == ["# the command", "# the machine", ",".join(tables.Origins.columns().values())]
    assert len(text) == 4


def test_one_sentence_reports_an_omitted_library():
    assert explain_missing({"Coal": "No module named 'coal'"}) == [
        "Coal is left out: No module named 'coal'; pip install 'superovoid_papers[bench]' installs it"
    ]
    sources = Path(superovoid_papers.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "installs it" in path.read_text(encoding="utf-8")] == ["contenders.py"]
