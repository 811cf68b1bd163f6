"""The command `myo`: one module per subcommand.

Typer and Rich come with the extra `cli` and are imported only when `main` runs, so that importing
this package needs neither.
"""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from myosotis import errors

if TYPE_CHECKING:
    import typer

__all__ = ["main"]


def main() -> None:
    """Runs `myo` with the arguments of the process.

    A user's mistake (in the arguments, or an exception of `myosotis.errors`) ends in one line on
    standard error and exit status 2. Any other exception is a defect and keeps its traceback.
    """
    if find_spec("typer") is None or find_spec("rich") is None:
        _fail("myo needs the command-line extra: pip install 'myosotis[cli]'")
    import typer

    # Typer does not export the base class of its complaints about arguments.
    usage_error: Any = typer.BadParameter.__bases__[0]
    mistakes = tuple(getattr(errors, name) for name in errors.__all__)
    try:
        status = _build_app()(prog_name="myo", standalone_mode=False)
    except usage_error as error:
        _fail(f"myo: {_one_line(error.format_message())} See 'myo --help'.")
    except mistakes as error:
        _fail(f"myo: {_one_line(str(error))}")
    except typer.Abort:  # how some versions of Typer pass on an interrupt
        status = 130
    sys.exit(status)


def _build_app() -> "typer.Typer":
    """Assembles the subcommands."""
    import typer

    from myosotis.cli import (
        bench,
        bench_data,
        compare,
        data,
        demo,
        evaluate,
        info,
        show,
        show_influence,
        train,
    )

    app = typer.Typer(
        help="Exact, differentiable solvers for block systems on trees.",
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
        ] = False,
    ) -> None:
        if version:
            typer.echo(f"myo {info.version_of('myosotis')}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.command("train")(train.train)
    app.command("eval")(evaluate.evaluate_run)
    app.command("compare")(compare.compare)
    app.command("info")(info.info)
    app.command("demo")(demo.demo)
    bench.app.command("data")(bench_data.bench_data)
    app.add_typer(bench.app, name="bench")
    app.add_typer(data.app, name="data")
    show.app.command("influence")(show_influence.show_influence)
    app.add_typer(show.app, name="show")
    return app


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)
