"""Where data lives on this machine."""

import os
from importlib.util import find_spec
from pathlib import Path

from myosotis.errors import ConfigError

__all__ = ["VARIABLE", "data_folder"]

VARIABLE = "MYOSOTIS_DATA"


def data_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: `root` if given, else `MYOSOTIS_DATA`, else the user's cache.

    All data is looked for in, downloaded to and generated into this one folder. It need not exist.

    Raises:
        ConfigError: if nothing is given and the cache cannot be found for want of `platformdirs`.

    Example:
        >>> data_folder("somewhere").name
        'somewhere'
    """
    chosen = root or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if find_spec("platformdirs") is None:
        raise ConfigError(
            f"no data folder is given: set {VARIABLE}, use --data-dir, "
            "or pip install 'myosotis[data]' to use the cache folder of this system"
        )
    import platformdirs

    return platformdirs.user_cache_path("myosotis", appauthor=False)
