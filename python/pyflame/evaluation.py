# SPDX-License-Identifier: Apache-2.0
"""Computing tensors on a machine."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

import tessera
from tessera import _native

from .machines import machine
from .tensor import Array, Tensor

__all__ = ["Evaluation", "eval", "evaluate", "graph_of"]


class Evaluation(NamedTuple):
    """What an evaluation did.

    target          the machine whose memories the device in this process had
    planned         whether layouts and work of any part come from the planner, not from the simple default
    ops             how many were computed; 0 if everything was at hand
    parts           runs, one after the other: more than one where the ops do not fit the machine together; what a
                    later one needs then waits in the memory of the host
    seconds         in this process
    cycles          predicted, of the machine's clock; None where they were not asked for or a figure is missing
    crossing_bytes  that crossed between places
    peak_bytes      of each part of each memory
    """

    target: str
    planned: bool
    ops: int
    parts: int
    seconds: float
    cycles: Optional[float]
    crossing_bytes: int
    peak_bytes: dict[str, int]


def evaluate(tensors: Sequence[Tensor], *, target: str = "wse2", planning: str = "where_needed",
             plan_seconds: float = 10.0, threads: int = 0, checked: bool = False, predict: bool = False) -> Evaluation:
    """Makes sure that tensors have elements, and tells what that took.

    They are computed on a device in this process that has the memories of a machine: every part of an expression once,
    and nothing that has elements already. All tensors that the program still holds keep what was computed of them.
    What does not fit the machine at once is run in parts.

    target    a machine of tessera.targets(), or the path of a description (.json)
    planning  'where_needed': layouts are cut by size, and planned only where a single op does not fit so; 'always'
              plans (seconds; the gain is time on the machine, not here); 'never' does not
    threads   0: one per core
    checked   whether reading what was never written on the device is an error
    predict   whether cycles are predicted without a plan, too

    >>> x = pf.randn([32, 64], seed=1)
    >>> y = pf.relu(x @ x.T)
    >>> done = pf.evaluate([y], predict=True)
    >>> done.target, done.ops, done.cycles > 0, pf.evaluate([y]).ops
    ('wse2', 3, True, 0)
    """
    lazy = [tensor._lazy for tensor in tensors]
    return Evaluation(**_native.lazy_eval(lazy, machine(target), planning, plan_seconds, threads, checked, predict))


def eval(tensors: Union[Tensor, Sequence[Tensor]], **options: Any) -> Any:
    """The elements of a tensor as an array of NumPy, or a list of arrays for a list of tensors. Options are those of
    evaluate().

    >>> pf.eval(pf.arange(4) * 2)
    array([0, 2, 4, 6])
    """
    wanted = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    evaluate(wanted, **options)
    arrays: list[Array] = [tensor.numpy() for tensor in wanted]
    return arrays[0] if isinstance(tensors, Tensor) else arrays


def graph_of(tensors: Union[Tensor, Sequence[Tensor]], name: str = "") -> tessera.Graph:
    """What is left to compute, as a model: to save, draw, propagate layouts through, or plan.

    >>> x = pf.ones([2, 3])
    >>> pf.graph_of(pf.relu(x + 1))
    <graph of 2 nodes:  -> relu f32[2, 3]>
    """
    wanted = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return tessera.Graph(_native.lazy_graph([tensor._lazy for tensor in wanted], name))
