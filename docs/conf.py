"""How Sphinx builds the site: `make docs`. Warnings are errors, and no network is needed."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import extension  # noqa: E402
import pictures  # noqa: E402

import pairrank  # noqa: E402

project = "pairrank"
author = "the pairrank developers"
release = version = pairrank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "sg_execution_times.rst", "gallery/README.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "python"
rst_prolog = ".. py:currentmodule:: pairrank\n\n"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_mock_imports = ["torch", "dask", "distributed"]
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

MATHJAX = "tex-svg.js"
mathjax_path = MATHJAX
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}

sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", "extension.name_the_file"),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"make_data\.py$",
    "copyfile_regex": r".*\.csv|.*\.txt",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "capture_repr": (),
    "plot_gallery": True,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "pairrank"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"image_light": "_static/logo-light.svg", "image_dark": "_static/logo-dark.svg"},
    "show_prev_next": False,
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
ALONE = ["index", "install", "which_ranker", "coming_from", "performance", "reliability"]
ALONE += ["reproduction", "measurements", "mathematics", "changes"]
html_sidebars = {name: [] for name in ALONE}
html_context = {"default_mode": "auto"}
copyright = "the pairrank developers; MIT licence"


def draw_pictures(app: Any) -> None:
    """Draw every picture of RESULTS.md, and copy MathJax beside the pages."""
    for name in pictures.PICTURES:
        pictures.draw(name, DOCS / "_pictures")
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("sphinx-mathjax-offline is not installed: make docs installs it")
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(package.origin).parent / "static" / "mathjax" / MATHJAX, static / MATHJAX)


def setup(app: Any) -> None:
    """Connect what is above."""
    app.connect("builder-inited", draw_pictures)
    app.connect("autodoc-skip-member", extension.skip_member)
    app.connect("autodoc-process-docstring", extension.escape_docstring, priority=900)
    app.connect("missing-reference", extension.resolve_short_name)
    for name, directive in extension.DIRECTIVES.items():
        app.add_directive(name, directive)
