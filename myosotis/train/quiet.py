"""Keeping Lightning's remarks to itself."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from lightning_fabric.utilities.warnings import PossibleUserWarning

__all__ = ["quiet_lightning"]

_LOGGERS = ("pytorch_lightning", "lightning_fabric", "pytorch_lightning.utilities.rank_zero")


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Hide Lightning's remarks for as long as the context lasts; other warnings are let through.

    Example:
        >>> with quiet_lightning():
        ...     logging.getLogger("pytorch_lightning").info("a tip")
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        # Guesses at mistakes, which are none: that a stream of ours cannot be resumed, for one.
        warnings.filterwarnings("ignore", category=PossibleUserWarning)
        # Between Lightning and torch.
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
