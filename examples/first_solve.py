"""A first solve: a random system on the quad-tree of an 8×8 image, checked against dense algebra.

Run with `python examples/first_solve.py`.
"""

import torch

from myosotis import Tree, TreeMatrix, tree_solve_diag


def main() -> None:
    torch.manual_seed(0)
    tree = Tree.quadtree(8, 8)
    channels = 4
    print(f"tree      {tree.num_leaves} pixels, {tree.num_nodes} nodes, {tree.num_levels} levels")

    def random() -> torch.Tensor:
        return torch.randn(tree.num_nodes, channels, dtype=torch.float64)

    # Far from symmetric, yet with a diagonal large enough to be well conditioned.
    a = (4 + 0.1 * random()).requires_grad_()  # diagonal
    b = (0.5 * random()).requires_grad_()  # row of a node, column of its parent
    c = (0.5 * random()).requires_grad_()  # row of the parent, column of the node
    u = random().requires_grad_()  # right-hand side

    x = tree_solve_diag(tree, a, b, c, u)
    loss = x.square().sum()
    loss.backward()

    residual = 0.0
    with torch.no_grad():
        for h in range(channels):
            blocks = (t[:, h, None, None] for t in (a, b, c))
            dense = TreeMatrix(tree, *blocks).to_dense(order="canonical")
            residual = max(residual, float((dense @ x[:, h] - u[:, h]).abs().max()))
    print(f"solution  {tuple(x.shape)}, largest residual against the dense matrix {residual:.1e}")
    for name, tensor in (("a", a), ("b", b), ("c", c), ("u", u)):
        assert tensor.grad is not None
        print(f"gradient  norm in {name}: {tensor.grad.norm():.4f}")


if __name__ == "__main__":
    main()
