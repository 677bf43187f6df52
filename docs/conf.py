"""Settings of the documentation site; `make docs` builds it."""

import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

import sklofi  # noqa: E402
from site_tools.gallery import CHAPTERS, FOLDER, copy_examples  # noqa: E402

project = "sklofi"
author = "The sklofi developers"
project_copyright = author
release = version = sklofi.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "site_tools",
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "**/GALLERY_HEADER.rst", "README.md"]
templates_path = ["_templates"]
html_static_path = ["_static"]

# Every reference has to lead somewhere, except to what other libraries document.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!sklofi\b).*\..*"), ("py:.*", r"[a-z_]+")]
default_role = "literal"  # in docstrings `X` is a parameter
smartquotes_action = "De"  # quotes stay as in code: types are such as {"sum", "mean"}

# Docstrings.
autodoc_typehints = "none"
autosummary_imported_members = True
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"
html_math_renderer = "mathml"

# Markdown.
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# The gallery runs copies of the examples, which may write files where they are.
copy_examples(DOCS / "_build" / "examples")
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
sphinx_gallery_conf = {
    "examples_dirs": ["_build/examples"],
    "gallery_dirs": [FOLDER],
    "subsection_order": [f"_build/examples/{chapter}" for chapter in CHAPTERS],
    "within_subsection_order": "site_tools.gallery.InOrderOfChapters",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("sklofi",),
    "download_all_examples": False,
    "thumbnail_size": (400, 280),
    "remove_config_comments": True,
    "show_signature": False,
    "min_reported_time": 1,
    "write_computation_times": False,  # their tables ask other hosts for scripts
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
}

# The look. Everything comes with the theme: no page loads anything from another host.
html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_title = f"sklofi {release}"
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "text": html_title,
        "alt_text": "",
        "image_light": "_static/favicon.svg",
        "image_dark": "_static/favicon.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    # the gallery and the widest tables have more room without one
    "secondary_sidebar_items": {"**": ["page-toc"], "auto_examples/index": [], "choosing": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "getting_started": []}
