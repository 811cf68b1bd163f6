"""What determines a training run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from myosotis.data import Task
from myosotis.errors import ConfigError
from myosotis.nn import ClassifierConfig
from myosotis.nn.config import InnerStart, Norm
from myosotis.train.duration import parse_duration

__all__ = ["ModelConfig", "OptimiserConfig", "TrainConfig"]

Precision = Literal["64-true", "32-true", "16-mixed", "bf16-mixed"]
LearnFrom = Literal["examples", "nodes"]


@dataclass(frozen=True)
class ModelConfig:
    """The settings of a `myosotis.nn.Classifier` that the task does not decide.

    Attributes:
        mixer: the layer between nodes or tokens, one of `myosotis.nn.mixers.available()`.
        mixer_options: further arguments of the mixer.
        dim: features per node.
        depth: number of blocks.
        heads: heads or states of the mixer; its own default if None.
        inner: what inner nodes start from.
        level_embedding: add a learned vector per level.
        norm: `layer` or `batch`.
        prenorm: norm before the mixer; after the sum if False.
        gated: a gated linear unit after the mixer; a linear layer if False.
        dropout: rate at which features are dropped.
        drop_path: rate at which the last block is left out for an example; earlier ones less.
        tie_blocks: all blocks have the same weights, but for their norms.
        recursive: the blocks work on one node with its children at a time, from the lowest up.
        climb_after: numbers of blocks after which the lowest level of the tree is left behind.
        widen: factor by which features and heads become more with each climb.
        shifts: by how many pixels each block in turn sees an image moved on its quad-tree.
        pool_levels: classify the mean over this many levels from the root; None: all nodes.
        levels: levels with parameters of their own, for tasks whose examples have their own trees.
        branching: siblings with parameters of their own, for the same tasks.

    Example:
        >>> from myosotis.data import load
        >>> ModelConfig(dim=32).classifier(load("digits")).num_classes
        10
    """

    mixer: str = ClassifierConfig.mixer
    mixer_options: Mapping[str, object] = field(default_factory=dict, hash=False)
    dim: int = ClassifierConfig.dim
    depth: int = ClassifierConfig.depth
    heads: int | None = ClassifierConfig.heads
    inner: InnerStart = ClassifierConfig.inner
    level_embedding: bool = ClassifierConfig.level_embedding
    norm: Norm = ClassifierConfig.norm
    prenorm: bool = ClassifierConfig.prenorm
    gated: bool = ClassifierConfig.gated
    dropout: float = ClassifierConfig.dropout
    drop_path: float = ClassifierConfig.drop_path
    tie_blocks: bool = ClassifierConfig.tie_blocks
    recursive: bool = ClassifierConfig.recursive
    climb_after: tuple[int, ...] = ClassifierConfig.climb_after
    widen: int = ClassifierConfig.widen
    shifts: tuple[int, ...] = ClassifierConfig.shifts
    pool_levels: int | None = ClassifierConfig.pool_levels
    levels: int | None = ClassifierConfig.levels
    branching: int | None = ClassifierConfig.branching

    def classifier(self, task: Task) -> ClassifierConfig:
        """Return the full configuration of a model for a task.

        Raises:
            ConfigError: a value is out of range, or does not fit the task.
        """
        return ClassifierConfig(
            num_classes=task.num_classes,
            tree=task.tree,
            channels=task.channels or None,
            vocabulary=task.vocabulary or None,
            inputs_on=task.inputs_on,
            **vars(self),
        )


@dataclass(frozen=True)
class OptimiserConfig:
    """AdamW, a linear warm-up and a cosine to zero.

    Attributes:
        lr: highest learning rate.
        dynamics_lr: highest learning rate of the coefficients of the tree systems, and of the
            eigenvalues and steps of state space models; as `lr` if None.
        weight_decay: of matrices; dynamics, norms, biases and embeddings have none.
        warmup: share of the training after which the learning rate is at its highest.
        label_smoothing: share of the target that is spread over all classes.
        clip: largest norm of the gradient; longer ones are scaled down. None: no limit.

    Raises:
        ConfigError: a value is out of range.

    Example:
        >>> OptimiserConfig(lr=3e-3).dynamics_lr
        0.001
    """

    lr: float = 3e-3
    dynamics_lr: float | None = 1e-3
    weight_decay: float = 0.05
    warmup: float = 0.05
    label_smoothing: float = 0.0
    clip: float | None = 1.0

    def __post_init__(self) -> None:
        for name in ("lr", "dynamics_lr", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigError(f"optimiser.{name} is {value}; it must be positive")
        if not 0 <= self.weight_decay < float("inf"):
            raise ConfigError(f"optimiser.weight_decay is {self.weight_decay}; it must be ≥ 0")
        for name in ("warmup", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                value = getattr(self, name)
                raise ConfigError(f"optimiser.{name} is {value}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class TrainConfig:
    """Everything that determines a run but the machine it is on.

    Attributes:
        task: one of `myosotis.data.available()`.
        model: size and kind of the model.
        optimiser: how it learns.
        learn_from: `examples`: from the class of each; `nodes`: from the classes of all nodes of
            their trees, where the data has them (`sst`). Validation and test are about examples.
        epochs: passes over the training set.
        growing_epochs: if not 0, learn from parts of the examples, drawn anew in each pass, where
            the data can be taken apart (`listops-chain`): in the first so many passes they grow,
            then they are of all sizes up to the whole. Validation and test are of whole examples.
        batch_size: examples in a step, on each device.
        seed: of the first weights, of the order of examples, and of dropout.
        deterministic: use deterministic algorithms only, where a device has faster ones. (On the
            CPU all of ours are.)
        early_stopping: stop after this many epochs without a better validation accuracy; None:
            never.
        time_budget: stop after this many seconds, which the learning rate's schedule then fits;
            texts such as `30m` are understood. The last validation and the test come on top.
            None: no limit.
        checkpoint_every: seconds between checkpoints; one is written after each epoch in any case.
        precision: of the computation, as Lightning names it.
        threads: of the processor; torch's choice if None. Small models are no faster with more
            than one, and far slower if others need the processor too.
        devices: number of devices on each machine.
        nodes: number of machines.
        strategy: how Lightning spreads the work over devices, such as `ddp`.

    Raises:
        ConfigError: a value is out of range.

    Example:
        >>> TrainConfig(task="digits", epochs=3).optimiser.lr
        0.003
    """

    task: str = "digits"
    model: ModelConfig = field(default_factory=ModelConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    learn_from: LearnFrom = "examples"
    epochs: int = 10
    growing_epochs: int = 0
    batch_size: int = 64
    seed: int = 0
    deterministic: bool = False
    early_stopping: int | None = None
    time_budget: float | None = field(default=None, metadata={"parse": parse_duration})
    checkpoint_every: float = 60.0
    precision: Precision = "32-true"
    threads: int | None = None
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "early_stopping", "threads", "devices", "nodes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1")
        if self.growing_epochs < 0:
            raise ConfigError(f"growing_epochs is {self.growing_epochs}; it must be at least 0")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed is {self.seed}; it must be at least 0 and below 2^63")
        if self.time_budget is not None and not self.time_budget > 0:
            raise ConfigError(f"time_budget is {self.time_budget}; it must be positive")
        if not self.checkpoint_every >= 0:
            raise ConfigError(f"checkpoint_every is {self.checkpoint_every}; it must be ≥ 0")
