# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Configuration of the documentation: sphinx-build -W docs build/site."""

import importlib.util
import sys

from sphinx.application import Sphinx

project = "superovoid"
copyright = "superovoid_ros maintainers, Apache-2.0"
author = "superovoid_ros maintainers"

# Of the extra `docs`; rosdoc2 does not bring it, and builds the site without the gallery.
GALLERY = importlib.util.find_spec("sphinx_gallery") is not None

# Examples of bridges whose framework is not installed are shown without a run.
FRAMEWORKS = ("casadi", "crocoddyl", "jax", "mink", "mujoco", "pink", "pinocchio", "torch")
MISSING = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_rtd_theme",
    *(["sphinx_gallery.gen_gallery"] if GALLERY else []),
]
root_doc = "index"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# The second and third are what rosdoc2 writes about every module, public or not.
exclude_patterns = ["_build", "modules.rst", "superovoid*.rst"]

html_theme = "sphinx_rtd_theme"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
# Pages that docs/recorded_pages.py writes.
html_extra_path = ["generated/site"]
# Only the branch of the page itself is unfolded: all of them on each page is a third of a build's time.
html_theme_options = {"navigation_depth": 3, "collapse_navigation": True}
html_show_sphinx = False

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

# phi'' is a derivative, no quotation.
smartquotes_action = "D"  # dashes only

# Words of docstrings that are names of several fields.
suppress_warnings = ["ref.python"]
default_role = "code"

autoclass_content = "class"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "FloatArray": "FloatArray", "IntArray": "IntArray"}
python_use_unqualified_type_names = True
napoleon_google_docstring = False
# Types in words, "(4, 4) array_like", are no names to be looked up.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/examples",
    "filename_pattern": rf"^(?!.*/with_({'|'.join(MISSING) or '-'})\.py$).*\.py$",
    "ignore_pattern": r"^$",
    "within_subsection_order": "reference_pages.example_order",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 1e9,  # times belong to the pages of figures
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
}

rosdoc2_settings = {"enable_intersphinx": False, "automatically_extend_intersphinx_mapping": False}


def setup(app: Sphinx) -> None:
    """Write the generated pages before Sphinx reads its sources."""
    # Not `__file__`: rosdoc2 executes this text from a file of its own.
    sys.path.insert(0, str(app.srcdir))
    import reference_pages

    reference_pages.setup(app)
