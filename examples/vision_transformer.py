"""Myo in the place of attention: one small vision transformer, trained with either.

The model is the usual one: a token for each patch of 2×2 pixels and further tokens without one,
learned positions, pre-norm blocks of a mixer and a two-layer perceptron, and a class read off the
last token. With attention the only further token is the class token. With Myo the tokens are the
nodes of the quad-tree over the patches: its inner nodes come after the patches, and its root, which
is last, is the class token. Nothing else changes.

Prints parameters, seconds of training and validation accuracy of both on handwritten digits (8×8,
part of scikit-learn). Fails if either has learned too little.

    python examples/vision_transformer.py           # --small: fewer epochs, to see that it runs
"""

import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn import functional

from myosotis import Tree
from myosotis.data import Task, load
from myosotis.nn import Myo

DIM, DEPTH, HEADS, BATCH = 32, 2, 4, 64


class Attention(nn.Module):
    """Self-attention as a map of (batch, tokens, dim) to the same shape."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Lets every token hear of every other."""
        mixed: Tensor
        mixed, _ = self.attention(x, x, x, need_weights=False)
        return mixed


class Block(nn.Module):
    """Pre-norm block: x + mixer(norm(x)), then x + perceptron(norm(x))."""

    def __init__(self, dim: int, mixer: nn.Module) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.mixer = mixer
        self.perceptron = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Maps (batch, tokens, dim) to the same shape."""
        x = x + self.mixer(self.norms[0](x))
        y: Tensor = x + self.perceptron(self.norms[1](x))
        return y


class VisionTransformer(nn.Module):
    """Encoder of patches, blocks with the given mixers over `tokens` tokens, linear head."""

    def __init__(self, mixers: list[nn.Module], tokens: int) -> None:
        super().__init__()
        self.embed = nn.Linear(4, DIM)
        self.positions = nn.Parameter(0.5 * torch.randn(tokens, DIM))
        self.blocks = nn.Sequential(*(Block(DIM, mixer) for mixer in mixers))
        self.head = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, 10))

    def forward(self, pixels: Tensor) -> Tensor:
        """Maps pixels (batch, 64, 1) in Morton order to logits (batch, 10)."""
        patches = pixels.unflatten(1, (16, 4)).flatten(2)  # four in a row are a patch of 2×2
        x = self.embed(patches)
        x = functional.pad(x, (0, 0, 0, len(self.positions) - 16)) + self.positions
        logits: Tensor = self.head(self.blocks(x)[:, -1])
        return logits


def train(model: nn.Module, task: Task, epochs: int) -> float:
    """Train in place; the seconds it took."""
    start = time.perf_counter()
    steps = epochs * (len(task.train) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 5e-3, total_steps=steps)
    for epoch in range(epochs):
        for batch in task.train.batches(BATCH, seed=epoch, drop_last=True):
            optimiser.zero_grad()
            functional.cross_entropy(model(batch.inputs), batch.labels).backward()
            optimiser.step()
            schedule.step()
    return time.perf_counter() - start


@torch.no_grad()
def accuracy(model: nn.Module, task: Task) -> float:
    (batch,) = task.validation.batches(len(task.validation))
    return float((model(batch.inputs).argmax(-1) == batch.labels).double().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="train for a few epochs only")
    small = parser.parse_args().small
    epochs, enough = (3, 0.7) if small else (15, 0.9)

    task, tree = load("digits"), Tree.quadtree(4)  # 4×4 patches
    torch.manual_seed(0)
    models = {
        "attention": VisionTransformer(
            [Attention(DIM, HEADS) for _ in range(DEPTH)], tokens=tree.num_leaves + 1
        ),
        "Myo": VisionTransformer([Myo(DIM, tree) for _ in range(DEPTH)], tokens=tree.num_nodes),
    }
    print(f"{'mixer':12}{'parameters':>12}{'seconds':>9}{'accuracy':>10}")
    for name, model in models.items():
        seconds = train(model, task, epochs)
        share, count = accuracy(model, task), sum(p.numel() for p in model.parameters())
        print(f"{name:12}{count:12,}{seconds:9.1f}{share:10.1%}", flush=True)
        if share < enough:
            raise SystemExit(f"{name} classifies {share:.1%}; at least {enough:.0%} is expected")


if __name__ == "__main__":
    main()
