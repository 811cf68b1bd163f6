"""A run: a folder in which a model is trained, from its configuration to its result."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities.exceptions import MisconfigurationException
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning.loggers import TensorBoardLogger

from myosotis.data import Task, load
from myosotis.errors import ConfigError
from myosotis.memory import freed_memory_kept
from myosotis.nn import mixers
from myosotis.train.checkpoint import FolderCheckpoints
from myosotis.train.clock import Clock
from myosotis.train.config import TrainConfig
from myosotis.train.evaluate import evaluate
from myosotis.train.files import complaint, read_folder, write_file
from myosotis.train.history import best_epoch, mean_speed
from myosotis.train.interrupt import StopRequest, listening
from myosotis.train.layout import CONFIG, LAST, RESULT, TENSORBOARD
from myosotis.train.limits import Limits
from myosotis.train.module import TrainingModule
from myosotis.train.progress import ProgressDisplay
from myosotis.train.quiet import quiet_lightning
from myosotis.train.recipes import dump_config, load_config
from myosotis.train.recorder import Recorder
from myosotis.train.result import Result, versions
from myosotis.train.saved import best_model
from myosotis.train.saver import Saver
from myosotis.train.settings import to_settings

__all__ = ["create_run", "is_main_process", "run"]

PATIENCE = 60.0  # seconds that processes of a run wait for its folder


def create_run(config: TrainConfig, parent: Path, name: str | None = None) -> Path:
    """Make the folder of a new run and put its configuration there.

    Args:
        config: what to train.
        parent: where runs are.
        name: of the run; date and time if None. Where several processes work on a run, each of
            them calls this with the same name, and the first makes the folder.

    Returns:
        `<parent>/<task>-<mixer>-<name>`.

    Raises:
        ConfigError: it cannot be made, or is there already.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     create_run(TrainConfig(), Path(parent), "first").name
        'digits-myo-first'
    """
    mixers.over(config.model.mixer)  # complains if there is no such mixer
    if name is None and config.devices * config.nodes > 1:
        raise ConfigError("a run on several devices needs a --name that all its processes know")
    label = datetime.now().strftime("%Y%m%d-%H%M%S") if name is None else name
    folder = parent / f"{config.task}-{config.model.mixer}-{label}"
    if not is_main_process():
        _wait_for(folder / CONFIG)
        return folder
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(
            f"{folder} is there already; continue it with --resume {folder} or choose another name"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with --run-dir"
        ) from None
    write_file(folder / CONFIG, dump_config(config).encode())
    return folder


def _wait_for(file: Path) -> None:
    """Waits until the main process, which may start later, has written a file."""
    end = time.monotonic() + PATIENCE
    while not file.exists():
        if time.monotonic() > end:
            raise ConfigError(
                f"{file} did not appear within {PATIENCE:.0f} s; is the run's folder on a disk "
                "that all machines share, and has process 0 started?"
            )
        time.sleep(0.05)


def is_main_process() -> bool:
    """Whether this process is the one that writes and prints, of those that work on a run.

    Example:
        >>> is_main_process()
        True
    """
    return int(getattr(rank_zero_only, "rank", 0)) == 0


def run(folder: Path, *, data_dir: Path | None = None, show: bool = True) -> Result:
    """Train the model of a run, from where it is, and evaluate it once.

    A run that was interrupted, even by `kill -9`, continues from its last checkpoint, and on the
    CPU ends with the same bits as if nothing had happened. A finished one returns its result.

    Args:
        folder: made by `create_run`.
        data_dir: where data is; `MYOSOTIS_DATA` or else the user's cache if None.
        show: progress on standard error.

    Raises:
        ConfigError: settings do not fit the task, the training diverged, or the disk is full.
        DataError: data or a checkpoint is missing or damaged.
        InterruptionError: by Ctrl-C; everything is saved.

    Example:
        >>> import tempfile
        >>> from myosotis.train import ModelConfig
        >>> config = TrainConfig(epochs=1, batch_size=300, model=ModelConfig(dim=8, depth=1))
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     result = run(create_run(config, Path(parent)), show=False)
        >>> result.steps
        5
    """
    config = load_config(folder / CONFIG)
    if (folder / RESULT).exists():
        return Result.read(folder)
    task = load(config.task, data_dir)
    with _process_settings(config):
        result = _fit(config, task, folder, show=show)
    if is_main_process():
        write_file(folder / RESULT, result.to_json().encode())
    return result


@contextmanager
def _process_settings(config: TrainConfig) -> Iterator[None]:
    """Sets threads and memory for training; at the end undoes all that is set for the process."""
    threads = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()  # Lightning may change it
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    try:
        with freed_memory_kept():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


def _trainer(
    config: TrainConfig,
    folder: Path,
    module: TrainingModule,
    recorder: Recorder,
    request: StopRequest,
    *,
    show: bool,
) -> pl.Trainer:
    clock = module.clock
    callbacks: list[pl.Callback] = [recorder, Limits(config, clock, recorder)]
    if show:
        callbacks.append(ProgressDisplay(config, clock, recorder))
    return pl.Trainer(
        callbacks=[*callbacks, Saver(folder, config, recorder, request)],
        plugins=[FolderCheckpoints(module.model.config)],
        logger=_logger(folder),
        log_every_n_steps=1,  # no more than the epochs that the recorder logs
        max_epochs=config.epochs,
        gradient_clip_val=config.optimiser.clip,
        deterministic=config.deterministic or None,
        precision=config.precision,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy=config.strategy,
        use_distributed_sampler=False,  # the stream divides batches itself
        num_sanity_val_steps=0,
        enable_checkpointing=False,  # ours are folders
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )


def _logger(folder: Path) -> TensorBoardLogger | bool:
    if find_spec("tensorboard") is None:
        return False
    return TensorBoardLogger(folder, name=TENSORBOARD, version="", default_hp_metric=False)


def _fit(config: TrainConfig, task: Task, folder: Path, *, show: bool) -> Result:
    torch.manual_seed(config.seed)
    clock = Clock()
    recorder = Recorder(folder, clock)
    module = TrainingModule(config, task, clock)
    last = read_folder(folder / LAST)
    with quiet_lightning(), listening() as request:
        try:
            trainer = _trainer(config, folder, module, recorder, request, show=show)
        except (ValueError, MisconfigurationException) as error:
            reason = str(error).split(". ")[0]
            raise ConfigError(
                f"cannot train with devices={config.devices}, strategy={config.strategy!r} and "
                f"precision={config.precision!r} here: {reason}"
            ) from error
        try:
            trainer.fit(module, ckpt_path=None if last is None else folder / LAST)
        except OSError as error:  # of a logger: our own files complain themselves
            raise complaint(folder, error) from error
    return _result(config, task, recorder, module, folder)


def _result(
    config: TrainConfig, task: Task, recorder: Recorder, module: TrainingModule, folder: Path
) -> Result:
    history = recorder.history
    best, end = best_epoch(history), history[-1]
    score = evaluate(best_model(folder), task, "test", config.batch_size)
    return Result(
        task=config.task,
        mixer=config.model.mixer,
        seed=config.seed,
        test_accuracy=score.accuracy,
        test_loss=score.loss,
        validation_accuracy=best.validation_accuracy,
        best_epoch=best.epoch,
        wall_seconds=end.seconds,
        samples_per_second=mean_speed(history),
        parameters=sum(p.numel() for p in module.model.parameters() if p.requires_grad),
        epochs=end.epoch,
        steps=end.step,
        versions=versions(),
        config=to_settings(config),
    )
