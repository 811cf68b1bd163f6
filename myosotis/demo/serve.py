"""Serving the page to this machine, and to nobody else."""

import os
import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING

from myosotis.errors import ConfigError
from myosotis.plot.theme import require_matplotlib

if TYPE_CHECKING:
    import gradio

    from myosotis.demo.reader import DigitReader

__all__ = ["HOST", "require_gradio", "require_port", "start"]

HOST = "127.0.0.1"


def require_gradio() -> None:
    """Raise `ConfigError` if what the page needs is not installed.

    Example:
        >>> try:
        ...     require_gradio()
        ... except ConfigError as error:
        ...     assert "myosotis[demo]" in str(error)
    """
    if find_spec("gradio") is None:
        raise ConfigError("the page needs the extra demo: pip install 'myosotis[demo]'")
    require_matplotlib()


def require_port(port: int) -> None:
    """Raise `ConfigError` if the page cannot be served at a port.

    Example:
        >>> with socket.create_server((HOST, 0)) as other:
        ...     try:
        ...         require_port(other.getsockname()[1])
        ...     except ConfigError as error:
        ...         assert "choose another" in str(error)
    """
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise ConfigError(
            f"cannot listen at port {port} ({error.strerror}): choose another with --port"
        ) from None


def start(reader: "DigitReader", port: int) -> "gradio.Blocks":
    """Serve the page from threads of this process.

    Args:
        reader: the model that reads what is drawn.
        port: where, on 127.0.0.1.

    Returns:
        The page; its `block_thread` waits until the process is interrupted.

    Raises:
        ConfigError: Gradio is not installed, or the port cannot be had.
    """
    require_gradio()
    require_port(port)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when Gradio is imported
    from myosotis.demo.markup import STYLE
    from myosotis.demo.page import build_page, page_theme

    page = build_page(reader)
    page.launch(
        server_name=HOST,
        server_port=port,
        share=False,
        ssr_mode=False,  # would need Node
        quiet=True,
        prevent_thread_lock=True,
        footer_links=[],
        theme=page_theme(),
        css=STYLE,
    )
    return page
