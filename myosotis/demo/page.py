"""The page: one tab for a drawn digit, one for small trees."""

from typing import TYPE_CHECKING

from myosotis.demo.digit_tab import TAKE_PEN, add_digit_tab
from myosotis.demo.reader import DigitReader
from myosotis.demo.tree_tab import add_tree_tab

if TYPE_CHECKING:
    import gradio

__all__ = ["build_page", "page_theme"]

_ABOUT = """# Myosotis
A layer that solves a system on a tree lets every node hear of every other, at a cost linear in
their number. Watch it read a digit, or solve a small system of your own."""


def build_page(reader: DigitReader) -> "gradio.Blocks":
    """Assemble the page; Gradio must be installed.

    Args:
        reader: the model that reads what is drawn.
    """
    import gradio as gr

    with gr.Blocks(title="Myosotis", analytics_enabled=False) as page:
        gr.Markdown(_ABOUT)
        with gr.Tab("A digit"):
            add_digit_tab(reader)
        with gr.Tab("A tree"):
            add_tree_tab()
        page.load(js=TAKE_PEN)
    return page


def page_theme() -> "gradio.Theme":
    """Return the look of the page, in fonts that every machine has."""
    import gradio as gr

    return gr.themes.Soft(
        primary_hue="blue",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
