"""The `superovoid` command: options of measurements and experiments."""

from __future__ import annotations

import importlib
import inspect

import pytest

from superovoid_ros.cli import EXPERIMENTS, main


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_takes_the_options_that_it_is_offered_with(name):
    module, _, options = EXPERIMENTS[name]
    experiment = importlib.import_module(f"superovoid_ros.experiments.{module}")
    inspect.signature(experiment.main).bind(**options)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--pairs", "-3", "'-3': must be a positive integer"),
        ("--pairs", "0", "'0': must be a positive integer"),
        ("--rounds", "many", "'many': must be a positive integer"),
        ("--seed", "-1", "'-1': must be an integer that is not negative"),
    ],
)
def test_an_option_without_sense_is_refused_with_what_is_expected(capsys, option, value, words):
    with pytest.raises(SystemExit, match="2"):
        main(["experiment", "suggestions", option, value])
    assert words in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_an_error_and_no_traceback(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["bench", "scale", "--output", str(tmp_path / "file" / "folder")]) == 1
    assert "--output" in capsys.readouterr().err
