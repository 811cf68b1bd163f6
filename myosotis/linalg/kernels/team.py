"""Dealing pieces of work out to a team of threads without leaving compiled code.

A team is (address of `GOMP_parallel`, number of threads). The address stands for the OpenMP runtime
that torch itself has loaded; it is 0 where there is none, and then the calling thread does all the
work. Threads draw the next piece from a common counter, so that one that is held up, by another
process perhaps, does not hold up the rest.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["deal_out"]

_WORD, _INT = ir.IntType(64), ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_BODY = ir.FunctionType(ir.VoidType(), [_POINTER])  # what a thread of a team runs
_RUNNER = ir.FunctionType(ir.VoidType(), [_BODY.as_pointer(), _POINTER, _INT, _INT])


@intrinsic
def deal_out(typingctx: Any, team: Any, pieces: Any, task: Any, arguments: Any) -> Any:
    """Call task(pieces, *arguments, i) for every row i of `pieces` on the threads of `team`.

    `task` is a compiled function that raises nothing and whose result is of no interest.
    """
    inner = task.get_call_type(typingctx, (pieces, *arguments.types, types.uint64), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        team, table, _, packed = args
        rows = context.make_array(pieces)(context, builder, table).shape
        count = builder.extract_value(rows, 0)
        shared = [_WORD(0), count, table, *cgutils.unpack_tuple(builder, packed)]
        state = cgutils.alloca_once_value(builder, cgutils.make_anonymous_struct(builder, shared))
        compiled = task.dispatcher.get_compile_result(inner)
        context.active_code_library.add_linking_library(compiled.library)
        body = _team_body(context, builder.module, state.type, compiled.fndesc, inner)
        runner, threads = cgutils.unpack_tuple(builder, team)
        data = builder.bitcast(state, _POINTER)
        with builder.if_else(cgutils.is_null(builder, runner)) as (alone, together):
            with alone:
                builder.call(body, [data])
            with together:
                run = builder.inttoptr(runner, _RUNNER.as_pointer())
                builder.call(run, [body, data, builder.trunc(threads, _INT), _INT(0)])
        return context.get_dummy_value()

    return types.void(team, pieces, task, arguments), codegen


def _team_body(context: Any, module: Any, state_type: Any, task: Any, signature: Any) -> Any:
    """A function void(state *) that runs one piece after the other until none is left.

    The state consists of the next piece, the number of pieces, and the arguments of the task.
    """
    body = ir.Function(module, _BODY, module.get_unique_name("team_body"))
    body.linkage = "internal"
    entry, draw, work, done = (body.append_basic_block() for _ in range(4))
    builder = ir.IRBuilder(entry)
    state = builder.bitcast(body.args[0], state_type)
    turn = cgutils.gep_inbounds(builder, state, 0, 0)
    _, count, *arguments = cgutils.unpack_tuple(builder, builder.load(state))
    builder.branch(draw)
    builder.position_at_end(draw)
    i = builder.atomic_rmw("add", turn, _WORD(1), "monotonic")
    builder.cbranch(builder.icmp_unsigned("<", i, count), work, done)
    builder.position_at_end(work)
    context.call_internal_no_propagate(builder, task, signature, [*arguments, i])
    builder.branch(draw)
    builder.position_at_end(done)
    builder.ret_void()
    return body
