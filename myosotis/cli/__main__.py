"""Lets `python -m myosotis.cli` do what `myo` does."""

from myosotis.cli import main

main()
