"""What the tests of the mixers share: an instance of each, masks, oracles."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from myosotis import Tree
from myosotis.nn import mixers

DIM = 4
TREE = Tree.over(7, 2)
DOUBLE = torch.float64

# Settings under which a few tokens are enough to tell a pattern from full attention.
SMALL: dict[str, dict[str, object]] = {
    "window": {"radius": 1},
    "window-global": {"radius": 1, "global_tokens": 2},
    "dilated": {"stride": 2, "width": 1},
}

# Every mixer, and every option that changes how it computes.
OPTIONS: dict[str, tuple[str, dict[str, object]]] = {
    **{name: (name, SMALL.get(name, {})) for name in mixers.available()},
    "s5-bidirectional": ("s5", {"bidirectional": True}),
    "s4d-bidirectional": ("s4d", {"bidirectional": True}),
    "attention-causal": ("attention", {"causal": True}),
    "linear-attention-causal": ("linear-attention", {"causal": True}),
    "lstm-bidirectional": ("lstm", {"bidirectional": True}),
}
SEQUENCE_CASES = [case for case, (name, _) in OPTIONS.items() if mixers.over(name) == "leaves"]
NODE_CASES = [case for case in OPTIONS if case not in SEQUENCE_CASES]


def build(case: str, dtype: torch.dtype = DOUBLE, dim: int = DIM, tree: Tree = TREE) -> nn.Module:
    name, options = OPTIONS[case]
    return mixers.create(name, dim, tree, heads=2, options=options, dtype=dtype)


def example(case: str, batch: int = 2, dtype: torch.dtype = DOUBLE, dim: int = DIM) -> Tensor:
    """x (batch, n, dim) with as many tokens, or nodes, as `TREE` has."""
    n = TREE.num_leaves if case in SEQUENCE_CASES else TREE.num_nodes
    return torch.randn(batch, n, dim, dtype=dtype)


def end_mask(lengths: list[int], n: int) -> Tensor:
    """bool (batch, n): padding at the end."""
    return torch.arange(n) < torch.tensor(lengths).unsqueeze(1)


def assert_gradients(mixer: nn.Module, x: Tensor, mask: Tensor | None = None) -> None:
    """Finite differences, in random directions, in the input and in every parameter."""
    names = [name for name, _ in mixer.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in mixer.parameters()]

    def function(x: Tensor, *parameters: Tensor) -> Tensor:
        return functional_call(mixer, dict(zip(names, parameters, strict=True)), (x, mask))

    x = x.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(function, (x, *values), fast_mode=True)


def by_heads(mixer: nn.Module, x: Tensor, head: Callable[..., Tensor]) -> Tensor:
    """Attention written out: `head(q, k, v)` on (n, size) for one example and head at a time."""
    maps = mixer.projections
    rows = []
    for tokens in x:
        q, k, v = (tokens @ maps.qkv.weight.T + maps.qkv.bias).chunk(3, dim=-1)
        parts = [
            head(*(t[:, part] for t in (q, k, v)))
            for part in torch.arange(x.shape[2]).chunk(mixer.heads)
        ]
        rows.append(torch.cat(parts, dim=-1) @ maps.output.weight.T + maps.output.bias)
    return torch.stack(rows)


def dense_softmax(mixer: nn.Module, x: Tensor, seen: Tensor) -> Tensor:
    """Softmax attention through the whole matrix, query by query; seen bool (n, n)."""

    def head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = []
        for i in range(len(q)):
            weight = torch.exp(k[seen[i]] @ q[i] / q.shape[1] ** 0.5)
            rows.append(weight @ v[seen[i]] / weight.sum())
        return torch.stack(rows)

    return by_heads(mixer, x, head)
