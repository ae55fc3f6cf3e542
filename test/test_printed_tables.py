# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tables keep the text of every cell on terminals of any width and in files; benchmarks need no optional package."""

import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console
from rich.table import Table

from superovoid.output import print_table

HEADINGS = ("contender", "total mean, us", "not converged", "paper: guess | total | iterations | per iteration")
ROWS = (
    ("quadParametric, printed", "13.42 ± 9.25", "40.00 %", "129.28 ± 9.26 | 396.00 ± 107.77 | 6.20 ± 2.55 | 31.75"),
    ("octImplicit", "63.70 ± 40.21", "0.00 %", ""),
)
PROGRAM = "import sys; from superovoid.cli import command; sys.argv = ['superovoid', *sys.argv[1:]]; "


def wide_table():
    table = Table(title="separated pairs; mean ± deviation where the scheme converged", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    for row in ROWS:
        table.add_row(*row, end_section=True)
    return table


def cells_of(text):
    lines = [line for line in text.splitlines() if line[:1] in "│┃"]
    return [[cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines]


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200])
def test_a_narrow_terminal_gets_the_table_in_parts(width):
    file = io.StringIO()
    print_table(Console(file=file, width=width, force_terminal=True, color_system=None), wide_table())
    text = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    found = cells_of(text)
    rows = {name: [name] for name in ("contender", *(row[0] for row in ROWS))}
    for first, *others in found:
        rows[first] += others
    assert list(rows.values()) == [list(HEADINGS), *(list(row) for row in ROWS)]
    if width >= 90:  # the widest part is one column next to the first
        assert max(map(len, text.splitlines())) <= width


def test_a_file_gets_the_whole_table(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    file = io.StringIO()
    print_table(Console(file=file), wide_table())
    assert cells_of(file.getvalue()) == [list(HEADINGS), *(list(row) for row in ROWS)]


@pytest.mark.slow
def test_the_battery_names_every_method_in_a_narrow_terminal(tmp_path):
    environment = os.environ | {"COLUMNS": "60"}
    command = [sys.executable, "-c", PROGRAM + "sys.exit(command())", "experiment", "battery-separated"]
    done = subprocess.run(
        [*command, "--pairs", "2", "--rounds", "1", "--output", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    names = [row[0] for row in cells_of(done.stdout)]
    assert {"contender", "quadImplicit", "octImplicit, analytic", "quadImplicit, adaptive", "engine"} <= set(names)
    assert "" not in names
    assert "…" not in done.stdout


@pytest.mark.slow
def test_bench_prints_all_tables_without_the_optional_packages():
    hide = "sys.modules.update(dict.fromkeys(('mpmath', 'coal', 'mujoco', 'casadi', 'fcl', 'distance3d'))); "
    measure = "from superovoid_papers.benchmarks import engine_speed; sys.exit(engine_speed.main(3, 1, 0))"
    command = [sys.executable, "-c", PROGRAM + hide + measure]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for title in ("Worst", "Scene, two hands", "Overlaps of two hands"):
        assert title.lower() in done.stdout.lower()
