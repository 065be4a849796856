"""Settings of the site; `methodbook-dev pages build` writes its sources and calls Sphinx with these."""

from configparser import ConfigParser
from pathlib import Path

from methodbook.pages_reader import api_notes, keep_noted, open_book

root = Path(__file__).resolve().parents[1]
ini = ConfigParser(delimiters=["="])
ini.read(root / "settings.ini", encoding="utf-8")
settings = ini["DEFAULT"]

project, author, release = settings["lib_name"], settings["author"], settings["version"]
copyright = settings["copyright"]
html_title = settings["title"]
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
]
suppress_warnings = ["myst.header"]  # a page may start a section at level 3
nb_execution_mode = "off"  # the notebooks were executed before
nb_ipywidgets_js = {"vendor/widgets.js": {}}
nb_render_text_lexer = "none"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_typehints = "none"  # types stand in the list of parameters, as they were written
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # what a base class says of a method stands there only
add_module_names = False
python_trailing_comma_in_multi_line_signatures = False
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

mathjax_path = "vendor/mathjax.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["methodbook.css"]
html_js_files = [("widgets-typeset.js", {"defer": "defer", "priority": 900})]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "notation": [], "ledger": [], "api": []}
html_theme_options = {
    "logo": {"text": settings["title"]},
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
copybutton_exclude = ".linenos, .gp, .go"


def setup(app):
    "Give autodoc the comments beside parameters and results."
    app.connect("autodoc-process-docstring", api_notes(open_book(root).names), priority=400)
    app.connect("autodoc-skip-member", keep_noted)
