"""Dealing pieces of work out to a team of threads without leaving compiled code.

A team is (address of `GOMP_parallel`, of `omp_get_thread_num`, number of threads). The addresses
lead into the OpenMP runtime that torch itself has loaded, or to what stands in for it (see
`plain_threads`); they are 0 where the calling thread does all the work.

Each thread has a run of pieces of its own, the same in every call: what it wrote in one call is
in the caches of its core when the next one reads it, and cores may be far from each other's caches.
A thread that is done with its own takes what is left of the others', so that one that is held up,
by another process perhaps, does not hold up the rest.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["deal_out", "thread_of"]

_WORD, _INT = ir.IntType(64), ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_BODY = ir.FunctionType(ir.VoidType(), [_POINTER])  # what a thread of a team runs
_RUNNER = ir.FunctionType(ir.VoidType(), [_BODY.as_pointer(), _POINTER, _INT, _INT])
_NUMBER = ir.FunctionType(_INT, [])  # which thread of its team the calling one is
_APART = 8  # words between the counters of two threads: a line of the cache each


@intrinsic
def deal_out(typingctx: Any, team: Any, pieces: Any, task: Any, arguments: Any) -> Any:
    """Call task(pieces, *arguments, i) for every row i of `pieces` on the threads of `team`.

    `task` is a compiled function that raises nothing and whose result is of no interest.
    """
    inner = task.get_call_type(typingctx, (pieces, *arguments.types, types.uint64), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        team, table, _, packed = args
        runner, number, threads = cgutils.unpack_tuple(builder, team)
        rows = context.make_array(pieces)(context, builder, table).shape
        count = builder.extract_value(rows, 0)
        turns = _zeros(builder, builder.mul(threads, _WORD(_APART)))
        shared = [turns, number, threads, count, table, *cgutils.unpack_tuple(builder, packed)]
        state = cgutils.alloca_once_value(builder, cgutils.make_anonymous_struct(builder, shared))
        compiled = task.dispatcher.get_compile_result(inner)
        context.active_code_library.add_linking_library(compiled.library)
        body = _team_body(context, builder.module, state.type, compiled.fndesc, inner)
        data = builder.bitcast(state, _POINTER)
        with builder.if_else(cgutils.is_null(builder, runner)) as (alone, together):
            with alone:
                builder.call(body, [data])
            with together:
                run = builder.inttoptr(runner, _RUNNER.as_pointer())
                builder.call(run, [body, data, builder.trunc(threads, _INT), _INT(0)])
        return context.get_dummy_value()

    return types.void(team, pieces, task, arguments), codegen


@intrinsic
def thread_of(typingctx: Any, team: Any) -> Any:
    """Which thread of a team the calling one is."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, number, _ = cgutils.unpack_tuple(builder, args[0])
        return _number(builder, number)

    return types.uint64(team), codegen


def _number(builder: Any, function: Any) -> Any:
    """What `omp_get_thread_num` at this address says, or 0 if there is no such function."""
    own = cgutils.alloca_once_value(builder, _WORD(0))
    with cgutils.if_likely(builder, cgutils.is_not_null(builder, function)):
        ask = builder.inttoptr(function, _NUMBER.as_pointer())
        builder.store(builder.zext(builder.call(ask, []), _WORD), own)
    return builder.load(own)


def _zeros(builder: Any, count: Any) -> Any:
    """So many words on the stack, all zero."""
    words = builder.alloca(_WORD, size=count)
    cgutils.memset(builder, words, builder.mul(count, _WORD(8)), 0)
    return words


def _team_body(context: Any, module: Any, state_type: Any, task: Any, signature: Any) -> Any:
    """A function void(state *) that runs one piece after the other until none is left.

    The state consists of how many pieces each thread's run has lost, the address of
    `omp_get_thread_num`, the numbers of threads and pieces, and the arguments of the task.
    """
    body = ir.Function(module, _BODY, module.get_unique_name("team_body"))
    body.linkage = "internal"
    builder = ir.IRBuilder(body.append_basic_block())
    state = builder.load(builder.bitcast(body.args[0], state_type))
    turns, number, threads, count, *arguments = cgutils.unpack_tuple(builder, state)
    own = _number(builder, number)
    with cgutils.for_range(builder, threads, intp=_WORD) as loop:
        owner = builder.urem(builder.add(own, loop.index), threads)
        low = builder.udiv(builder.mul(owner, count), threads)
        high = builder.udiv(builder.mul(builder.add(owner, _WORD(1)), count), threads)
        turn = builder.gep(turns, [builder.mul(owner, _WORD(_APART))])
        draw, work, done = (body.append_basic_block() for _ in range(3))
        builder.branch(draw)
        builder.position_at_end(draw)
        i = builder.add(low, builder.atomic_rmw("add", turn, _WORD(1), "monotonic"))
        builder.cbranch(builder.icmp_unsigned("<", i, high), work, done)
        builder.position_at_end(work)
        context.call_internal_no_propagate(builder, task, signature, [*arguments, i])
        builder.branch(draw)
        builder.position_at_end(done)
    builder.ret_void()
    return body
