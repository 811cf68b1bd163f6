"""For the API pages: our docstrings say `Example:`, Griffe knows the section as `Examples:`."""

from typing import Any

import griffe


class ExamplesSection(griffe.Extension):
    """Renames the section, so that doctests are shown as code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rename it in one docstring; called for every object that is read."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
