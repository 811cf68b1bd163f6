"""`myo demo`: a page to play with."""

from pathlib import Path
from typing import Annotated

import typer

from myosotis.cli.train import require_training

__all__ = ["demo"]


def demo(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="MODEL",
            help="Folder of a run of zmnist, or of a saved model; that of the checkout if not "
            "given.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Where to serve the page, on 127.0.0.1.")
    ] = 7860,
) -> None:
    """Serve a page to play with: draw a digit and watch it being read, or solve a small tree.

    Only this machine can see it, and nothing is fetched from elsewhere. Ctrl-C
    ends it.
    """
    require_training()
    from myosotis.demo.reader import DigitReader, committed_checkpoint
    from myosotis.demo.serve import HOST, require_gradio, require_port, start

    require_gradio()
    require_port(port)
    reader = DigitReader.load(committed_checkpoint() if model is None else model)
    page = start(reader, port)
    typer.echo(f"serving at http://{HOST}:{port} until Ctrl-C")
    page.block_thread()
