"""Sequences, images and trees to classes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import PyTorchModelHubMixin, constants, hf_hub_download
from safetensors.torch import load_model
from torch import Tensor, nn

from myosotis.errors import ConfigError, DataError, ShapeError
from myosotis.nn import mixers
from myosotis.nn.block import Block
from myosotis.nn.config import ClassifierConfig
from myosotis.nn.encoder import Encoder
from myosotis.nn.index import leaf_nodes, num_leaves, num_top_nodes, upper_tree
from myosotis.nn.mask import as_sequences, leaves_below
from myosotis.nn.pool import pool_nodes, pool_sequence
from myosotis.nn.recursion import families
from myosotis.nn.shift import move
from myosotis.tree import Tree

__all__ = ["Classifier"]


class Classifier(
    nn.Module,
    PyTorchModelHubMixin,
    library_name="myosotis",
    license="apache-2.0",
    tags=["myosotis", "tree"],
):
    """Encoder, blocks of mixers, mean over the top levels, linear head.

    `save_pretrained(folder)` writes the configuration as JSON and the weights as safetensors;
    `from_pretrained(folder or repository)` brings them back.

    Args:
        config: what it is made of.

    Example:
        >>> from myosotis import Tree
        >>> config = ClassifierConfig(num_classes=10, tree=Tree.quadtree(8), channels=1, depth=2)
        >>> model = Classifier(config)
        >>> model(torch.randn(5, 64, 1)).shape
        torch.Size([5, 10])
    """

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.over_nodes = mixers.over(config.mixer) == "nodes"
        if config.inputs_on == "nodes" and not self.over_nodes:
            raise ConfigError(f"mixer {config.mixer!r} works on sequences: put inputs on leaves")
        moves = config.climb_after or any(config.shifts) or config.recursive
        if moves and not self.over_nodes:
            raise ConfigError(
                f"mixer {config.mixer!r} works on sequences: it can neither climb nor shift nor be "
                f"recursive (climb_after must be [], shifts [0] and recursive false)"
            )
        self.encoder = Encoder(
            config,
            over_nodes=self.over_nodes,
            positions=mixers.needs_positions(config.mixer),
        )
        rates = torch.linspace(0, config.drop_path, config.depth).tolist()
        self.blocks = nn.ModuleList(self._block(i, rate) for i, rate in enumerate(rates))
        if config.tie_blocks:
            for block in self.blocks[1:]:
                block.mixer, block.gate = self.blocks[0].mixer, self.blocks[0].gate
        self.climbs = nn.ModuleList(
            nn.Linear(config.dim * config.widen**i, config.dim * config.widen ** (i + 1))
            for i in range(len(config.climb_after))
        )
        dim = config.dim * config.widen ** len(config.climb_after)
        self.norm = nn.LayerNorm(dim) if config.prenorm else nn.Identity()
        self.head = nn.Linear(dim, config.num_classes)

    def _block(self, place: int, drop: float) -> Block:
        config, climbs = self.config, self.config.climbs_before(place)
        more = config.widen**climbs
        options = dict(config.mixer_options)
        if config.mixer == "myo":
            options |= {"levels": config.levels, "branching": config.branching}
        tree = config.tree
        for _ in range(climbs):
            assert tree is not None  # the configuration has seen to it
            tree = upper_tree(tree)
        heads = None if config.heads is None else config.heads * more
        mixer = mixers.create(config.mixer, config.dim * more, tree, heads, options)
        return Block(config, config.dim * more, mixer, drop)

    def forward(
        self, inputs: Tensor, mask: Tensor | None = None, tree: Tree | None = None
    ) -> Tensor:
        """Classifies a batch.

        Args:
            inputs: values (batch, n, channels) or tokens (batch, n) at the n leaves, left to
                right, or at the nodes in canonical numbering.
            mask: bool (batch, leaves), False for padding.
            tree: the tree, or forest of one tree per example, if not that of the configuration.

        Returns:
            Logits (batch, num_classes); for a forest (batch · roots, num_classes).
        """
        tree = self.config.tree if tree is None else tree
        if not self.over_nodes:
            if tree is not None and tree.num_roots > 1:
                inputs, mask = as_sequences(inputs, tree)
            return self._classify_sequence(inputs, mask)
        x, tree, alive = self._node_features(inputs, mask, tree)
        top = self.norm(x[:, -num_top_nodes(tree, self.config.pool_levels) :])
        pooled = pool_nodes(top, tree, self.config.pool_levels, alive)
        return self.head(pooled).flatten(0, 1)  # type: ignore[no-any-return]

    def classify_nodes(
        self, inputs: Tensor, mask: Tensor | None = None, tree: Tree | None = None
    ) -> Tensor:
        """Classifies every node by its own features; arguments as for `forward`.

        Returns:
            Logits (batch, L, num_classes), nodes in canonical numbering. Those of a root are what
            `forward` gives with `pool_levels=1`.

        Example:
            >>> config = ClassifierConfig(2, Tree.star(3), channels=1, depth=1, dim=16)
            >>> Classifier(config).classify_nodes(torch.randn(5, 3, 1)).shape
            torch.Size([5, 4, 2])
        """
        if not self.over_nodes:
            raise ConfigError(f"mixer {self.config.mixer!r} works on sequences: it has no nodes")
        if self.config.climb_after:
            raise ConfigError("a model that climbs leaves the lower nodes behind without a class")
        x, _, _ = self._node_features(inputs, mask, self.config.tree if tree is None else tree)
        return self.head(self.norm(x))  # type: ignore[no-any-return]

    def _node_features(
        self, inputs: Tensor, mask: Tensor | None, tree: Tree | None
    ) -> tuple[Tensor, Tree, Tensor | None]:
        """Features (batch, L, dim) of the nodes, their tree, and which of them are there."""
        if tree is None:
            raise ConfigError("the configuration has no tree: give one with each call")
        if (self.config.climb_after or any(self.config.shifts)) and tree != self.config.tree:
            raise ConfigError("a model that climbs or shifts knows its own tree only: give none")
        if any(self.config.shifts) and mask is not None:
            raise ConfigError("shifts move whole images: give no mask")
        if self.config.recursive and mask is not None:
            raise ConfigError("a recursive model knows its trees as they are: give no mask")
        self._check(inputs, tree)
        below = None if mask is None else leaves_below(tree, mask)
        alive = None if below is None else below > 0
        x = self.encoder(inputs, tree, mask, below)
        if self.config.recursive:
            return self._from_below(x, tree), tree, alive
        shift = climbed = 0
        for place, block in enumerate(self.blocks):
            if self.config.climbs_before(place) > climbed:
                x, tree, alive = self._climb(climbed, x, tree, alive)
                if alive is not None:
                    mask = alive.index_select(1, leaf_nodes(tree).to(alive.device))
                climbed += 1
            before, shift = shift, self.config.shift_of(place)
            x = move(x, tree, before, shift, climbed)
            x = block(x, _mix_on(tree, mask), alive, tree)
        return move(x, tree, shift, 0, climbed), tree, alive

    def _from_below(self, x: Tensor, tree: Tree) -> Tensor:
        """The features of each node, (batch, L, dim), when those of its children are settled."""
        for stars, nodes in families(tree):
            places = nodes.to(x.device)
            y = x.index_select(1, places)
            for block in self.blocks:
                y = block(y, _mix_on(stars, None), None, stars)
            roots = stars.num_roots
            x = x.index_copy(1, places[-roots:], y[:, -roots:])
        return x

    def _climb(
        self, climbed: int, x: Tensor, tree: Tree, alive: Tensor | None
    ) -> tuple[Tensor, Tree, Tensor | None]:
        """Leaves the lowest level behind: the same for the rest of the tree, and wider."""
        first = tree.level_sizes[0]
        alive = None if alive is None else alive[:, first:]
        return self.climbs[climbed](x[:, first:]), upper_tree(tree), alive

    def _classify_sequence(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        x = self.encoder(inputs, None, mask, None)
        for block in self.blocks:
            x = block(x, lambda mixer, y: mixer(y, mask), mask)
        return self.head(pool_sequence(self.norm(x), mask))  # type: ignore[no-any-return]

    def _check(self, inputs: Tensor, tree: Tree) -> None:
        on_nodes = self.config.inputs_on == "nodes"
        count = tree.num_nodes if on_nodes else num_leaves(tree)
        tokens = self.config.vocabulary is not None
        expected = ("batch", count) if tokens else ("batch", count, self.config.channels)
        if inputs.ndim != len(expected) or inputs.shape[1:] != expected[1:]:
            shape = ", ".join(map(str, expected))
            raise ShapeError(
                f"inputs have shape {tuple(inputs.shape)}; expected ({shape}): "
                f"{'tokens' if tokens else 'values'} at the {self.config.inputs_on}"
            )

    def _save_pretrained(self, save_directory: Path) -> None:
        text = json.dumps(self.config.to_dict(), sort_keys=True, indent=2)
        (save_directory / constants.CONFIG_NAME).write_text(text + "\n", encoding="utf-8")
        super()._save_pretrained(save_directory)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        map_location: str = "cpu",
        **model_kwargs: Any,
    ) -> "Classifier":
        """Loads safetensors only, strictly, with a configuration whose keys all exist."""
        folder = Path(model_id)

        def local(name: str) -> Path:
            if folder.is_dir():
                return folder / name
            found: str = hf_hub_download(
                model_id,
                name,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
            )
            return Path(found)

        config_file, weights = map(
            local, (constants.CONFIG_NAME, constants.SAFETENSORS_SINGLE_FILE)
        )
        for file in (config_file, weights):
            if not file.is_file():
                raise DataError(f"{file} is missing; a saved classifier has it beside the other")
        model = cls(ClassifierConfig.from_dict(json.loads(config_file.read_text("utf-8"))))
        load_model(model, weights, strict=True, device=map_location)
        return model.eval()


def _mix_on(tree: Tree, mask: Tensor | None) -> Callable[[nn.Module, Tensor], Tensor]:
    return lambda mixer, y: mixer(y, mask, tree)
