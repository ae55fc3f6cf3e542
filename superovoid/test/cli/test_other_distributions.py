# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Commands of missing distributions."""

import pytest

from superovoid.cli import command_line, main


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("demo --arms", "superovoid demo: error: needs the distribution superovoid_ros, which is not installed"),
        ("dev bench engine --pairs 3", "superovoid_papers, which is not installed: pip install . ./superovoid_papers"),
        ("experiment --help", "superovoid experiment: error: needs the distribution superovoid_papers"),
    ],
)
def test_a_missing_distribution_is_named_with_its_install_command(monkeypatch, capsys, line, words):
    monkeypatch.setattr(command_line, "extensions", lambda group: {})
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert words in capsys.readouterr().err


def test_the_help_lists_commands_of_missing_distributions(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "extensions", lambda group: {})
    for line, count in (("--help", 4), ("dev --help", 3)):
        with pytest.raises(SystemExit, match="0"):
            main(line.split())
        assert capsys.readouterr().out.count("which is not installed") == count


def test_a_recording_without_a_robot_needs_its_package(monkeypatch, tmp_path, capsys):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    from superovoid.viewing import recording_files

    monkeypatch.setattr(recording_files, "extensions", lambda group: {})
    (tmp_path / "r.csv").write_text("motion,frame\nhands,1\n", encoding="utf-8")
    assert main(["view", str(tmp_path / "r.csv")]) == 2
    assert "no installed package recognises its columns" in capsys.readouterr().err


def test_view_node_needs_superovoid_ros(monkeypatch, capsys):
    pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")
    from superovoid.cli import view

    monkeypatch.setattr(view, "extensions", lambda group: {})
    assert main(["view", "--node"]) == 2
    assert "needs the package superovoid_ros, which is not installed" in capsys.readouterr().err
