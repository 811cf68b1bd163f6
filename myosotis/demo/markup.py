"""Figures and messages as pieces of a page."""

import base64
import io
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STYLE", "message", "mistake", "picture"]

STYLE = """
.picture { background: white; border-radius: 8px; padding: 4px; }
.picture img { width: 100%; max-width: 1000px; margin: auto; display: block; }
.message { padding: 0.6em 1em; border-radius: 4px; border-left: 4px solid #0077bb; }
.message.mistake { border-left-color: #cc3311; }
"""


def picture(figure: "Figure", description: str) -> str:
    """Return a figure as an image that is sharp at any size.

    Args:
        figure: made by Matplotlib.
        description: read out to those who do not see it.

    Example:
        >>> from myosotis import Tree
        >>> from myosotis.plot import show_tree
        >>> picture(show_tree(Tree.star(2)), "a <star>")[:51]
        '<div class="picture"><img alt="a &lt;star&gt;" src='
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    source = "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
    return f'<div class="picture"><img alt="{escape(description)}" src="{source}"></div>'


def message(text: str) -> str:
    """Return a sentence as a note.

    Example:
        >>> message("1 < 2")
        '<div class="message" role="status">1 &lt; 2</div>'
    """
    return f'<div class="message" role="status">{escape(text)}</div>'


def mistake(error: Exception) -> str:
    """Return what the library says about a mistake.

    Example:
        >>> mistake(ValueError("no <tree>"))
        '<div class="message mistake" role="alert">no &lt;tree&gt;</div>'
    """
    return f'<div class="message mistake" role="alert">{escape(str(error))}</div>'
