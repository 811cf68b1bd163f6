"""A progress bar on the terminal, where there is one and rich is installed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress_bar"]

Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, total: int, done: int = 0) -> Iterator[Advance]:
    """Show how much of `total` is done; yields a function to call with what was added.

    Example:
        >>> with progress_bar("counting", 3) as advance:
        ...     advance(2)
    """
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
    except ImportError:
        yield lambda count: None
        return
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task(label, total=total, completed=done)
        yield lambda count: progress.advance(bar, count)
