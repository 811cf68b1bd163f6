"""Inference for a Gaussian on a tree: sampling, likelihood, marginals, and a fit by gradient.

Each node carries a number. It is held near 0 by a spring of stiffness `anchor` and near its
parent's number by one of stiffness `coupling`, so that the numbers are jointly Gaussian with the
precision matrix T = anchor · I + coupling · (Laplacian of the tree), a tree matrix:

- sampling takes one solve: if u has covariance T then T⁻¹ u has covariance T⁻¹;
- the log-likelihood is ½ log det T − ½ xᵀTx + constant, and both terms are differentiable;
- marginal variances, and correlations along edges, are `inverse_blocks`.

Prints the largest difference of likelihood and marginals from dense algebra, two marginals beside
what the samples say, and both stiffnesses fitted by gradient ascent, with standard errors from the
curvature of the likelihood. Fails if dense algebra disagrees (1e-10) or a fit is more than three
standard errors from the truth.

    python examples/tree_gaussian.py
"""

import math

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from myosotis import Tree, TreeMatrix

TREE = Tree.perfect(branching=3, depth=4)  # 121 nodes
SAMPLES = 50
TRUTH = torch.tensor([0.5, 2.0], dtype=torch.float64)  # anchor, coupling
EDGES = TREE.num_edges  # nodes come before their parents: node v < EDGES has edge v above it
PARENT = torch.from_numpy(TREE.parent[:EDGES].copy())


def precision(stiffness: Tensor) -> TreeMatrix:
    """T for stiffness (2,): a node feels its anchor and one spring for each edge it touches."""
    anchor, coupling = stiffness
    touches = torch.zeros(TREE.num_nodes, dtype=stiffness.dtype)
    touches[:EDGES] += 1
    touches.index_add_(0, PARENT, torch.ones(EDGES, dtype=stiffness.dtype))
    diagonal = anchor + coupling * touches  # (L,)
    return TreeMatrix.diag(TREE, diagonal[:, None], -coupling, -coupling)


def sample(stiffness: Tensor, count: int) -> Tensor:
    """Draw (count, L, 1). Each spring gives u a random force; their covariances add up to T."""
    anchor, coupling = stiffness
    u = anchor.sqrt() * torch.randn(count, TREE.num_nodes, 1, dtype=stiffness.dtype)
    pull = coupling.sqrt() * torch.randn(count, EDGES, 1, dtype=stiffness.dtype)
    u[:, :EDGES] += pull
    u.index_add_(1, PARENT, -pull)
    x = precision(stiffness).solve(u)
    assert isinstance(x, Tensor)
    return x


def log_likelihood(stiffness: Tensor, x: Tensor) -> Tensor:
    """Of all samples x (count, L, 1) together."""
    T = precision(stiffness)
    product = T @ x
    assert isinstance(product, Tensor)
    constant = TREE.num_nodes * math.log(2 * math.pi)
    return 0.5 * (len(x) * (T.logdet().sum() - constant) - (x * product).sum())


def marginals(stiffness: Tensor) -> tuple[Tensor, Tensor]:
    """Variance of each node (L,) and its covariance with its parent (edges,)."""
    variance, to_parent, _ = precision(stiffness).inverse_blocks()
    assert isinstance(variance, Tensor)
    assert isinstance(to_parent, Tensor)
    return variance[:, 0], to_parent[:EDGES, 0]


def fit(x: Tensor, steps: int = 150) -> tuple[Tensor, Tensor]:
    """Maximum likelihood and standard errors of log stiffness, (2,) each, by gradient ascent."""
    log_stiffness = torch.zeros(2, dtype=x.dtype, requires_grad=True)
    optimiser = torch.optim.Adam([log_stiffness], lr=0.1, maximize=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        log_likelihood(log_stiffness.exp(), x).backward()
        optimiser.step()
        schedule.step()
    found = log_stiffness.detach()
    curvature = torch.autograd.functional.hessian(lambda log: log_likelihood(log.exp(), x), found)
    return found, torch.linalg.inv(-curvature).diagonal().sqrt()


def check_against_dense(x: Tensor) -> float:
    """Largest difference from dense algebra: likelihood (relative), variances, covariances."""
    T = precision(TRUTH).to_dense(order="canonical")[0]
    expected = MultivariateNormal(T.new_zeros(len(T)), precision_matrix=T).log_prob(x[..., 0]).sum()
    dense, (variance, to_parent) = torch.linalg.inv(T), marginals(TRUTH)
    differences = (
        log_likelihood(TRUTH, x) / expected - 1,
        variance - dense.diagonal(),
        to_parent - dense[torch.arange(EDGES), PARENT],
    )
    return float(torch.cat([difference.flatten() for difference in differences]).abs().max())


def main() -> None:
    torch.manual_seed(0)
    x = sample(TRUTH, SAMPLES)
    difference = check_against_dense(x)
    print(f"likelihood and marginals  differ from dense algebra by {difference:.0e}")
    if not difference <= 1e-10:
        raise SystemExit(f"tree and dense algebra differ by {difference:.1e}, more than 1e-10")

    variance, to_parent = marginals(TRUTH)
    leaf, root, above = 0, TREE.num_nodes - 1, int(PARENT[0])
    correlation = float(to_parent[leaf] / (variance[leaf] * variance[above]).sqrt())
    seen = float(torch.corrcoef(x[:, [leaf, above], 0].T)[0, 1])
    print(f"variance of the root      {variance[root]:.3f}, in the samples {x[:, root].var():.3f}")
    print(f"a leaf and its parent     correlation {correlation:.3f}, in the samples {seen:.3f}")

    found, error = fit(x)
    for name, log, width, truth in zip(("anchor", "coupling"), found, error, TRUTH, strict=True):
        print(f"{name:25} {log.exp():.3f} ± {log.exp() * width:.3f}, truth {truth:.3f}")
        if not (log - truth.log()).abs() <= 3 * width:
            raise SystemExit(f"{name} is more than three standard errors from the truth")


if __name__ == "__main__":
    main()
