import pytest
import torch

from myosotis import Tree
from myosotis.errors import DataError
from myosotis.nn import Classifier, ClassifierConfig
from myosotis.train.checkpoint import PREFIX, FolderCheckpoints

CONFIG = ClassifierConfig(2, Tree.star(3), channels=1, dim=4, depth=1, norm="batch")
TIED = ClassifierConfig(2, Tree.star(3), channels=1, dim=4, depth=3, tie_blocks=True)


@pytest.fixture(params=[CONFIG, TIED], ids=["blocks", "tied blocks"])
def saved(request, tmp_path):
    model = Classifier(request.param)
    weights = {PREFIX + name: tensor for name, tensor in model.state_dict().items()}
    checkpoint = {"state_dict": weights, "optimizer_states": [{"m": torch.ones(3)}], "epoch": 2}
    FolderCheckpoints(request.param).save_checkpoint(checkpoint, tmp_path / "last")
    return model, checkpoint, tmp_path / "last"


def test_it_is_read_back_as_it_was(saved):
    _, checkpoint, folder = saved
    found = FolderCheckpoints(CONFIG).load_checkpoint(folder)
    assert found.keys() == checkpoint.keys()
    assert found["state_dict"].keys() == checkpoint["state_dict"].keys()
    assert found["epoch"] == 2
    assert torch.equal(found["optimizer_states"][0]["m"], torch.ones(3))
    for name, tensor in checkpoint["state_dict"].items():
        assert torch.equal(found["state_dict"][name], tensor)


def test_the_model_is_in_the_layout_of_from_pretrained(saved):
    model, _, folder = saved
    loaded = Classifier.from_pretrained(folder)
    x = torch.randn(5, 3, 1)
    assert torch.equal(loaded(x), model.eval()(x))
    assert loaded.config == model.config


def test_a_missing_checkpoint(tmp_path):
    with pytest.raises(DataError, match="there is no checkpoint"):
        FolderCheckpoints(CONFIG).load_checkpoint(tmp_path / "last")


@pytest.mark.parametrize("file", ["training.pt", "model.safetensors"])
@pytest.mark.parametrize("damage", ["absent", "empty", "truncated"])
def test_a_damaged_checkpoint(saved, file, damage):
    path = saved[2] / file
    if damage == "absent":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else path.read_bytes()[:-200])
    with pytest.raises(DataError, match="is damaged"):
        FolderCheckpoints(CONFIG).load_checkpoint(saved[2])


class Payload:
    def __reduce__(self):
        return (print, ("executed",))


def test_a_checkpoint_runs_no_code(saved, capsys):
    torch.save({"epoch": Payload()}, saved[2] / "training.pt")
    with pytest.raises(DataError):
        FolderCheckpoints(CONFIG).load_checkpoint(saved[2])
    assert capsys.readouterr().out == ""
