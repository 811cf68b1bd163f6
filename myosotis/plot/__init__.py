"""Pictures. Matplotlib comes with the extra `plot` and is imported only when one is drawn."""
