# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""`examples/notebooks/`: viewers shown in notebooks, without Jupyter and in a real one."""

import ast
import html
import json
import re
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("viser", reason="viser is missing: pip install 'superovoid[view]'")

from superovoid.viewing.serving import Refresher, Viewer, open_server

from tabs import chromium, tab  # noqa: F401

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples" / "notebooks").glob("*.ipynb"))
LONG = 600.0  # s, reached only by failing tests


def run(source, names):
    """Return the value shown by a cell of a notebook."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_of_a_notebook_show_pages_until_they_are_closed(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    names, shown = {}, []
    *cells, last = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    try:
        for cell in cells:
            viewer = run(cell, names)
            shown.append(viewer)
            url = re.search(r'<iframe src="(http://127\.0\.0\.1:\d+)"', viewer._repr_html_())[1]
            with urllib.request.urlopen(url, timeout=LONG) as answer:
                assert b"<html" in answer.read()
        assert len(shown) == 2
        run(last, names)
        assert all(re.fullmatch(r"<p>\w+: closed</p>", viewer._repr_html_()) for viewer in shown)
    finally:
        for viewer in shown:
            viewer.close()


def test_any_title_is_escaped_in_a_notebook():
    title = '"><script>hacked()</script>'
    with Viewer(open_server("page"), Refresher(lambda: None, lambda error: None), title) as viewer:
        said = viewer._repr_html_()
    assert "<script" not in said and html.escape(title) in said and "<script" not in viewer._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_jupyter_notebook_shows_the_pages_while_its_kernel_runs(path, tab, tmp_path):  # noqa: F811
    for name in ("ipykernel", "nbclient", "nbconvert"):
        pytest.importorskip(name, reason="Jupyter is missing: pip install ipykernel nbclient nbconvert")
    import nbclient
    import nbconvert
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=LONG, kernel_name="python3")
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells[:-1]):
            client.execute_cell(cell, index)
        page = tmp_path / "notebook.html"
        page.write_text(nbconvert.HTMLExporter(embed_images=True).from_notebook_node(notebook)[0], encoding="utf-8")
        tab.page.goto(f"file://{page}", wait_until="commit")
        for number in range(2):
            tab.page.locator("iframe").nth(number).scroll_into_view_if_needed()
            frame = tab.page.frame_locator("iframe").nth(number)
            frame.get_by_text("Clearance").first.wait_for()
            frame.get_by_text("proved in").first.wait_for()
