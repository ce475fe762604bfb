"""Rows of all processes together: a differentiable gather of scores, and one of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed
from torch.autograd.function import Function

from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs
from pairrank.torch.rows import Rows


def gather_rows(values: Tensor, *, group: Any = None) -> Tensor:
    """Return the rows of all processes, one process after the other.

    It can be differentiated any number of times. The gradient of a process's rows is the sum of the
    gradients that all processes have for them. So if every process computes the same loss from the
    result, its rows get the gradient of that loss times the number of processes, and
    `DistributedDataParallel`, which averages the gradients of the processes, gives exactly the
    gradient that a single process would have with all rows. If you sum gradients over processes
    yourself, divide the loss by their number first.

    Parameters
    ----------
    values : Tensor of shape (n_rows, ...)
        Processes may have different numbers of rows, also none.
    group : ProcessGroup, optional
        None is the default group.

    Returns
    -------
    Tensor of shape (n_rows of all processes, ...)

    Raises
    ------
    PairrankError
        If no process group has been initialised.

    Notes
    -----
    All processes must call it, and must call `backward`. Memory and traffic are those of the
    largest number of rows times the number of processes.
    """
    check_group()
    mine = torch.tensor([values.shape[0]], device=values.device)
    sizes = [torch.empty_like(mine) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(sizes, mine, group=group)
    result: Tensor = _Gather.apply(values, [int(size) for size in sizes], group)
    return result


def check_group() -> None:
    """Raise a PairrankError unless torch.distributed has a process group."""
    if not (distributed.is_available() and distributed.is_initialized()):
        raise PairrankError(
            "rows of all processes need a process group: call "
            "torch.distributed.init_process_group first, or leave gather at False"
        )


def gathered(rows: Rows) -> Rows:
    """Return the rows of all processes of the default group as flat rows.

    Equal qids of two processes are one query; rows of batches of lists are queries of their
    process.
    """
    check_group()
    if isinstance(rows.labels, Pairs):
        raise PairrankError("gather=True cannot join Pairs, which name rows of one process")
    mine = (rows.labels, rows.qid, rows.weights, rows.shape[0] if len(rows.shape) == 2 else 0)
    every: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(every, mine)
    labels, qids, weights, counts = zip(*every, strict=True)
    if any(counts):
        first = np.cumsum(counts) - counts
        qids = tuple(
            None if qid is None else qid + start for qid, start in zip(qids, first, strict=True)
        )
    by_name = {name: [each[name] for each in weights] for name in rows.weights}
    sizes = [len(each) for each in labels]
    joined = {name: _joined(name, parts, sizes) for name, parts in by_name.items()}
    together = np.concatenate([each for each in labels if len(each)] or [labels[0]])
    return Rows(together, _joined("qid", list(qids), sizes), joined, together.shape, None)


def _joined(name: str, parts: list[Any], sizes: list[int]) -> Any:
    """Return the arrays of all processes as one, or None if no process has one."""
    given = [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
    absent = [process for process, size in enumerate(sizes) if size and parts[process] is None]
    if len(absent) == len(given):
        return None
    if absent:
        raise PairrankError(
            f"process {absent[0]} gives no {name}, but others do: give it in all processes"
        )
    return np.concatenate([part for part, _ in given])


class _Gather(Function):
    """The rows of all processes; its adjoint is `_Own`."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, sizes: list[int], group: Any) -> Tensor:
        ctx.sizes, ctx.group = sizes, group
        padded = own.new_zeros((max(sizes), *own.shape[1:]))
        padded[: own.shape[0]] = own
        parts = [torch.empty_like(padded) for _ in sizes]
        distributed.all_gather(parts, padded, group=group)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        return _Own.apply(upstream[0], ctx.sizes, ctx.group), None, None


class _Own(Function):
    """This process's rows of the sum over processes of a tensor with the rows of all."""

    @staticmethod
    def forward(ctx: Any, every: Tensor, sizes: list[int], group: Any) -> Tensor:
        ctx.sizes, ctx.group = sizes, group
        total = every.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total, group=group)
        rank = distributed.get_rank(group)
        start = sum(sizes[:rank])
        return total[start : start + sizes[rank]]

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        return _Gather.apply(upstream[0].contiguous(), ctx.sizes, ctx.group), None, None
