"""A page to play with: a digit drawn by hand, read level by level, and small trees to solve.

What the page shows is computed and drawn by plain functions. Gradio comes with the extra `demo`
and is imported only when the page is built.
"""
