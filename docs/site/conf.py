"""Sphinx's settings for the site; ``make site`` copies this file beside the pages it builds."""

from __future__ import annotations

project = "pinlab"
author = "the pinlab authors"
copyright = "the pinlab authors. Text and figures: CC BY 4.0, code: MIT"
html_title = "pinlab"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 3
# The lessons are shown as they are committed and tested, not run again.
nb_execution_mode = "off"
# A widget is a picture of a running kernel; its text twin stands in the same output.
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
# Every warning is an error: a lost link or a picture without its file ends the build.
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_use_rtype = False
default_role = "code"  # docstrings say `name`, as Markdown does

html_theme = "sphinx_book_theme"
html_theme_options = {
    "home_page_in_toc": True,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "navigation_with_keys": False,
}
html_static_path = ["_static"]
html_css_files = ["pinlab.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
exclude_patterns = ["_build", "workshop/slides"]
