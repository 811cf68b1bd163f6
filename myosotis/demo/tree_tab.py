"""The tab on which a small tree is written down and solved."""

import numpy as np

from myosotis import errors
from myosotis.demo.markup import message, mistake, picture
from myosotis.demo.systems import SolvedSystem, random_tree_text, read_tree, solve_example
from myosotis.plot import show_matrix, show_tree
from myosotis.plot.tree import node_label

__all__ = ["add_tree_tab", "show_system", "table_of"]

_TREE = "((a b) (c d e))"
_COLUMNS = ["node", "u", "x", "u − T x"]
_MISTAKES = tuple(getattr(errors, name) for name in errors.__all__)


def show_system(text: str, seed: int) -> tuple[str, str, str, list[list[str]]]:
    """Show the tree of a text, its matrix and a solution.

    Args:
        text: as for `read_tree`.
        seed: of the right-hand side.

    Returns:
        A note, the tree and the matrix as pictures, and the table; after a mistake the note says
        what the library says, and the others are empty.

    Example:
        >>> show_system("(a b", seed=0)[0]
        '<div class="message mistake" role="alert">bracket at position 0 needs a ...'
        >>> note, tree, matrix, rows = show_system("(a b)", seed=0)
        >>> [row[0] for row in rows]
        ['1', '2', '[1;2]']
    """
    try:
        tree = read_tree(text)
        solved = solve_example(tree, int(seed))
        matrix = picture(show_matrix(solved.matrix), "the matrix T and its inverse")
    except _MISTAKES as error:
        return mistake(error), "", "", []
    largest = float(np.abs(solved.residual).max())
    note = message(f"Solved: no entry of u − T x is larger than {largest:.1e}.")
    return note, picture(show_tree(tree), "the tree"), matrix, table_of(solved)


def table_of(solved: SolvedSystem) -> list[list[str]]:
    """A row of label, u, x and residual for each node, in the order of the matrix.

    Example:
        >>> from myosotis import Tree
        >>> len(table_of(solve_example(Tree.star(3), seed=0)))
        4
    """
    tree = solved.matrix.tree
    return [
        [
            node_label(tree, node),
            f"{solved.right_side[node]:.4f}",
            f"{solved.solution[node]:.4f}",
            f"{solved.residual[node]:.1e}",
        ]
        for node in np.argsort(tree.post_order).tolist()
    ]


def add_tree_tab() -> None:
    """Add the tab to the page that is being built."""
    import gradio as gr

    note, tree, matrix, rows = show_system(_TREE, seed=0)
    with gr.Row():
        with gr.Column(scale=2, min_width=320):
            text = gr.Textbox(
                _TREE,
                label="Tree",
                info="Words in brackets, or the parent of each node: ((a b) c) or -1, 0, 1, 1, 0",
                elem_id="tree",
            )
            button = gr.Button("Solve", variant="primary", elem_id="solve")
        with gr.Column(min_width=260):
            size = gr.Slider(1, 40, value=12, step=1, label="Nodes of a random tree")
            seed = gr.Slider(0, 99, value=0, step=1, label="Seed of tree and right-hand side u")
            random = gr.Button("Random tree", elem_id="random")
    shown = [
        gr.HTML(note, elem_id="tree-note"),
        gr.HTML(tree, elem_id="tree-picture"),
        gr.HTML(matrix, elem_id="matrix-picture"),
    ]
    gr.Markdown("### T x = u, solved in time proportional to the number of nodes")
    shown.append(gr.Dataframe(rows, headers=_COLUMNS, interactive=False, elem_id="solution"))
    for event in (text.submit, button.click, seed.release):
        event(show_system, [text, seed], shown, show_progress="hidden")
    for event in (random.click, size.release):
        event(random_tree_text, [size, seed], text, show_progress="hidden").then(
            show_system, [text, seed], shown, show_progress="hidden"
        )
