"""Which parameters learn at which rate, and which of them decay."""

from typing import Any

from torch import nn

from myosotis.nn.coefficients import Coefficients
from myosotis.nn.mixers import S4D, S5
from myosotis.train.config import OptimiserConfig

__all__ = ["parameter_groups"]

# Of state space models: what decides how fast a state decays and turns.
_DYNAMICS = ("log_rate", "frequency", "log_step")


def parameter_groups(model: nn.Module, config: OptimiserConfig) -> list[dict[str, Any]]:
    """Sort the parameters of a model into groups for AdamW: dynamics, matrices, others.

    Dynamics have their own learning rate and no weight decay: a decaying eigenvalue or coupling
    forgets. Norms, biases, embeddings and other vectors do not decay either.

    Args:
        model: any module; layers of ours are looked for inside.
        config: rates.

    Returns:
        Groups with `name`, `params`, `lr` and `weight_decay`, without empty ones.

    Example:
        >>> from myosotis import Tree
        >>> from myosotis.nn import Classifier, ClassifierConfig
        >>> model = Classifier(ClassifierConfig(2, Tree.star(2), channels=1))
        >>> [group["name"] for group in parameter_groups(model, OptimiserConfig())]
        ['dynamics', 'matrices', 'others']
    """
    dynamics = _dynamics(model)
    embeddings = {
        id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()
    }
    groups: dict[str, list[nn.Parameter]] = {"dynamics": [], "matrices": [], "others": []}
    for parameter in model.parameters():
        if id(parameter) in dynamics:
            kind = "dynamics"
        elif parameter.ndim > 1 and id(parameter) not in embeddings:
            kind = "matrices"
        else:
            kind = "others"
        groups[kind].append(parameter)
    slow = config.lr if config.dynamics_lr is None else config.dynamics_lr
    return [
        {
            "name": name,
            "params": parameters,
            "lr": slow if name == "dynamics" else config.lr,
            "weight_decay": config.weight_decay if name == "matrices" else 0.0,
        }
        for name, parameters in groups.items()
        if parameters
    ]


def _dynamics(model: nn.Module) -> set[int]:
    """Identities of the coefficients of tree systems, and of eigenvalues and steps."""
    found: set[int] = set()
    for module in model.modules():
        if isinstance(module, Coefficients):
            found.update(map(id, module.parameters()))
        elif isinstance(module, S5 | S4D):
            found.update(id(getattr(module, name)) for name in _DYNAMICS)
    return found
