"""What ranks compute, beside the same computed by one process: every function runs on each rank."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from myosotis import Tree, tree_solve_diag
from myosotis.distributed import average_gradients, gather, local_nodes, plan, scatter
from myosotis.nn import Classifier, ClassifierConfig, Myo
from myosotis.train.checkpoint import PREFIX, FolderCheckpoints
from tests.cases import (
    DOUBLE_DTYPES,
    TREES,
    random_diagonal_system,
    random_right_side,
    relative_error,
)

CASES = {name: tree for name, tree in TREES.items() if tree.num_nodes >= 8}
LAYERS: dict[str, dict[str, Any]] = {
    "factor": {},
    "factor, selective": {"selective": True},
    "factor, real, two sides": {"complex_heads": False, "rhs": 2},
    "upward, selective": {"parametrization": "upward", "selective": True},
    "split": {"parametrization": "split"},
    "dominant": {"parametrization": "dominant"},
    "free, per node": {"parametrization": "free", "sharing": "node"},
}
STEPS = 5

Errors = dict[str, float]


def on_two_ranks(rank: int, folder: Path) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("sequence",))
    return {
        "solutions": solutions(mesh),
        "second derivatives": second_derivatives(mesh),
        "coefficients": coefficients(mesh),
        "layers": layers(mesh),
        "bytes": [bytes_sent(Tree.over(leaves, 10), mesh) for leaves in (10_000, 1_000_000)],
        "singular": singular(mesh),
        "mistakes": mistakes(mesh),
        "fsdp": sharded(folder, mesh),
        "losses": (loss_curve(None), loss_curve(mesh)),
    }


def on_four_ranks(rank: int, folder: Path) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (4,))
    return {
        "solutions": solutions(mesh),
        "layers": layers(mesh),
        "data parallel": data_parallel(),
    }


def solutions(mesh: DeviceMesh) -> dict[str, Errors]:
    return {
        f"{name}, {dtype}": solution(tree, dtype, mesh)
        for name, tree in CASES.items()
        for dtype in DOUBLE_DTYPES
    }


def system(tree: Tree, dtype: torch.dtype) -> dict[str, Tensor]:
    a, b, c = random_diagonal_system(tree, 3, dtype)
    named = {"a": a, "b": b, "c": c, "u": random_right_side((2, tree.num_nodes, 3), dtype)}
    return {name: t.requires_grad_() for name, t in named.items()}


def shared_solve(
    tree: Tree, a: Tensor, b: Tensor, c: Tensor, u: Tensor, mesh: DeviceMesh
) -> Tensor:
    x = tree_solve_diag(tree, a, b, c, scatter(u, tree, mesh), mesh=mesh)
    return gather(x, tree, mesh)


def loss(x: Tensor) -> Tensor:
    return (x * random_right_side(x.shape, x.dtype, seed=7)).abs().square().sum()


def solution(tree: Tree, dtype: torch.dtype, mesh: DeviceMesh) -> Errors:
    """Relative errors of x and of all gradients."""
    tensors = system(tree, dtype)
    expected = tree_solve_diag(tree, **tensors)
    gradients = torch.autograd.grad(loss(expected), list(tensors.values()))
    x = shared_solve(tree, **tensors, mesh=mesh)
    loss(x).backward()
    average_gradients(tensors.values(), mesh)
    errors = {"x": relative_error(x, expected)}
    for (name, t), gradient in zip(tensors.items(), gradients, strict=True):
        assert t.grad is not None
        errors[name] = relative_error(t.grad, gradient)
    return errors


def second_derivatives(mesh: DeviceMesh) -> Errors:
    """Errors of the gradient of the squared norm of the gradient in u."""
    tensors = system(TREES["caterpillar"], torch.float64)

    def slope(x: Tensor) -> Tensor:
        (first,) = torch.autograd.grad(loss(x), tensors["u"], create_graph=True)
        return first.square().sum()

    expected = torch.autograd.grad(
        slope(tree_solve_diag(TREES["caterpillar"], **tensors)), list(tensors.values())
    )
    # The whole first gradient is the mean over ranks, so that of its norm needs every rank's share.
    (first,) = torch.autograd.grad(
        loss(shared_solve(TREES["caterpillar"], **tensors, mesh=mesh)),
        tensors["u"],
        create_graph=True,
    )
    whole = all_mean(first, mesh)
    whole.square().sum().backward()
    average_gradients(tensors.values(), mesh)
    found = [t.grad for t in tensors.values()]
    return {
        name: relative_error(g, e)
        for name, g, e in zip(tensors, found, expected, strict=True)
        if g is not None
    }


def all_mean(t: Tensor, mesh: DeviceMesh) -> Tensor:
    from myosotis.distributed.collectives import all_gather

    return all_gather(t, mesh).mean(0)


def coefficients(mesh: DeviceMesh) -> Errors:
    """Errors of x where a, b, c are scalars, local, and different for each example."""
    tree = TREES["ragged"]
    a, b, c = random_diagonal_system(tree, 3, torch.float64, batch=(2,))
    u = random_right_side((2, tree.num_nodes, 3), torch.float64)
    one, zero = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    local = [scatter(t, tree, mesh) for t in (a, b, c)]
    cases = {
        "scalars": ((one, zero, -one / 2), (one, zero, -one / 2)),
        "batch": ((a, b, c), (a, b, c)),
        "local": ((a, b, c), (local[0], local[1], local[2])),
    }
    return {
        name: relative_error(
            shared_solve(tree, *given, u=u, mesh=mesh), tree_solve_diag(tree, *whole, u)
        )
        for name, (whole, given) in cases.items()
    }


def layers(mesh: DeviceMesh) -> dict[str, Errors]:
    return {name: layer(options, mesh) for name, options in LAYERS.items()}


def layer(options: dict[str, Any], mesh: DeviceMesh) -> Errors:
    """Errors of the output and of the gradients of all parameters of `Myo`."""
    errors = {}
    for name in ("quad-5x3", "deep", "forest"):
        tree = TREES[name]
        torch.manual_seed(0)
        alone = Myo(6, tree, 4, dtype=torch.float64, **options)
        for parameter in alone.parameters():  # a selective layer starts independent of its input
            torch.nn.init.normal_(parameter, std=0.3)
        shared = Myo(6, tree, 4, dtype=torch.float64, mesh=mesh, **options)
        shared.load_state_dict(alone.state_dict())
        x = random_right_side((2, tree.num_nodes, 6), torch.float64)
        expected, y = alone(x), gather(shared(scatter(x, tree, mesh)), tree, mesh)
        loss(expected).backward()
        loss(y).backward()
        average_gradients(shared.parameters(), mesh)
        errors[name] = relative_error(y, expected)
        for (part, p), q in zip(alone.named_parameters(), shared.parameters(), strict=True):
            assert p.grad is not None
            assert q.grad is not None
            errors[f"{name}, {part}"] = relative_error(q.grad, p.grad)
    return errors


@contextmanager
def counted(name: str) -> Iterator[list[int]]:
    """Bytes that this rank hands to a collective of torch.distributed, call by call."""
    counts: list[int] = []
    original = getattr(dist, name)

    def counting(*arguments: Any, **options: Any) -> Any:
        sent = arguments[1]  # a tensor to be gathered, or one for each rank to be reduced
        sent = sent if isinstance(sent, Tensor) else sent[0]
        counts.append(sent.numel() * sent.element_size())
        return original(*arguments, **options)

    setattr(dist, name, counting)
    try:
        yield counts
    finally:
        setattr(dist, name, original)


def bytes_sent(tree: Tree, mesh: DeviceMesh) -> tuple[list[int], list[int], int]:
    """Forward, backward and by the plan, with 2 examples of 3 channels."""
    one, half = torch.ones(3), torch.full((3,), -0.1)
    u = torch.ones(2, len(local_nodes(tree, mesh)), 3, requires_grad=True)
    with counted("all_gather") as forward, counted("reduce_scatter") as backward:
        tree_solve_diag(tree, one, half, half, u, mesh=mesh).sum().backward()
    return forward, backward, plan(tree, mesh.size()).bytes_sent(channels=3, batch=2)


def complaint(action: Callable[[], object]) -> tuple[str, str]:
    try:
        action()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def singular(mesh: DeviceMesh) -> list[tuple[str, str]]:
    """What each rank says of a pivot that is zero on the second, and of one in the top."""
    tree = Tree.chain(7)
    zero, u = torch.zeros(()), torch.ones(len(local_nodes(tree, mesh)), 1)

    def solve_without(node: int) -> Tensor:
        a = torch.ones(7, 1)
        a[node] = 0
        return tree_solve_diag(tree, a, zero, zero, u, mesh=mesh)

    found = [complaint(lambda: solve_without(4)), complaint(lambda: solve_without(3))]
    dist.barrier()  # and then they go on together
    return found


def mistakes(mesh: DeviceMesh) -> dict[str, tuple[str, str]]:
    """All are found before anything is sent."""
    tree, one = Tree.chain(13), torch.ones(())
    n = len(local_nodes(tree, mesh))
    square = init_device_mesh("cpu", (1, 2), mesh_dim_names=("data", "sequence"))
    layer = Myo(2, tree, 1, mesh=mesh)

    def solve(u: Tensor, tree: Tree = tree, a: Tensor = one, mesh: Any = mesh) -> Tensor:
        return tree_solve_diag(tree, a, one, one, u, mesh=mesh)

    return {
        "u": complaint(lambda: solve(torch.ones(13, 1))),
        "a": complaint(lambda: solve(torch.ones(n, 1), a=torch.ones(5, 1))),
        "channels": complaint(lambda: solve(torch.ones(n, 3), a=torch.ones(13, 2))),
        "dtype": complaint(lambda: solve(torch.ones(n, 1).double())),
        "tree": complaint(lambda: solve(torch.ones(1, 1), tree=Tree.chain(2))),
        "mesh": complaint(lambda: solve(torch.ones(n, 1), mesh=square)),
        "no mesh": complaint(lambda: solve(torch.ones(n, 1), mesh=2)),
        "scatter": complaint(lambda: scatter(torch.ones(n, 1), tree, mesh)),
        "gather": complaint(lambda: gather(torch.ones(13, 1), tree, mesh)),
        "block": complaint(lambda: Myo(2, tree, 1, block=2, mesh=mesh)),
        "x": complaint(lambda: layer(torch.ones(1, 13, 2))),
        "mask": complaint(lambda: layer(torch.ones(1, n, 2), torch.ones(1, 1).bool())),
    }


def classifier() -> Classifier:
    torch.manual_seed(0)
    config = ClassifierConfig(
        num_classes=10, tree=Tree.quadtree(32), channels=1, dim=8, depth=2, pool_levels=1
    )
    return Classifier(config).double()


def classify_shared(model: Classifier, inputs: Tensor, tree: Tree, mesh: DeviceMesh) -> Tensor:
    """The logits on every rank, from its own nodes and the top, which has the root."""
    nodes = local_nodes(tree, mesh)
    x = model.encoder.embed(scatter(model.encoder.mean(inputs, tree), tree, mesh))
    if model.encoder.level is not None:
        x = x + model.encoder.level(torch.from_numpy(tree.depth.copy())[nodes])
    for block in model.blocks:
        x = block(x, lambda mixer, y: mixer(y), None)
    root = x[:, (nodes == tree.num_nodes - 1).nonzero().item()]
    return model.head(model.norm(root))


def loss_curve(mesh: DeviceMesh | None) -> list[float]:
    """Losses of a 32×32 classifier in training, by this process alone or on the mesh."""
    model, tree = classifier(), Tree.quadtree(32)
    for block in model.blocks:
        block.mixer.mesh = mesh
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(STEPS):
        inputs = torch.randn(4, 1024, 1, dtype=torch.float64, generator=generator)
        labels = torch.randint(10, (4,), generator=generator)
        logits = model(inputs) if mesh is None else classify_shared(model, inputs, tree, mesh)
        value = torch.nn.functional.cross_entropy(logits, labels)
        optimiser.zero_grad()
        value.backward()
        if mesh is not None:
            average_gradients(model.parameters(), mesh)
        optimiser.step()
        losses.append(value.item())
    return losses


def sharded(folder: Path, mesh: DeviceMesh) -> dict[str, Any]:
    """A saved classifier under FSDP: its logits, and what is saved of it after a step."""
    alone, model = (Classifier.from_pretrained(folder / "before").double() for _ in range(2))
    fully_shard(model, mesh=mesh)
    inputs = random_right_side((2, 64, 1), torch.float64)
    logits = []
    for trained in (alone, model):
        optimiser = torch.optim.SGD(trained.parameters(), lr=0.1)
        logits.append(trained(inputs))
        logits[-1].square().mean().backward()
        optimiser.step()
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)  # on the first rank
    if weights:
        FolderCheckpoints(alone.config).save_checkpoint(
            {"state_dict": {PREFIX + name: t.float() for name, t in weights.items()}},
            folder / "after",
        )
    dist.barrier()
    saved = Classifier.from_pretrained(folder / "after").state_dict()
    expected = {name: t.float() for name, t in alone.state_dict().items()}
    return {
        "sharded": isinstance(next(model.parameters()), DTensor),
        "logits": relative_error(logits[1], logits[0]),
        "saved": max(relative_error(saved[name], t) for name, t in expected.items()),
        "moved": max(
            relative_error(t, saved[name])
            for name, t in Classifier.from_pretrained(folder / "before").state_dict().items()
        ),
    }


def data_parallel() -> Errors:
    """Errors of gradients where two pairs of ranks have half of the examples, and half of the tree.

    `DistributedDataParallel` over all four does the averaging.
    """
    tree = TREES["quad-5x3"]
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "sequence"))
    torch.manual_seed(0)
    alone = Myo(6, tree, 4, dtype=torch.float64)
    shared = Myo(6, tree, 4, dtype=torch.float64, mesh=mesh["sequence"])
    shared.load_state_dict(alone.state_dict())
    x = random_right_side((4, tree.num_nodes, 6), torch.float64)
    alone(x).square().mean().backward()
    half = x.chunk(2)[mesh.get_local_rank("data")]
    parallel = DistributedDataParallel(shared)
    y = parallel(scatter(half, tree, mesh["sequence"]))
    gather(y, tree, mesh["sequence"]).square().mean().backward()
    errors = {}
    for (name, p), q in zip(alone.named_parameters(), shared.parameters(), strict=True):
        assert p.grad is not None
        assert q.grad is not None
        errors[name] = relative_error(q.grad, p.grad)
    return errors
