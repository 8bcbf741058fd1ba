# SPDX-License-Identifier: Apache-2.0
"""The table of rules: how each op of ATen is written with ours.

A rule is a function of the site where it writes and of the arguments of the call, by the names of the op's schema. It
returns the name of its result, or a list of names where the op has several results; None stands for one that is not
computed. A rule that cannot write the call raises Refused. Rules are found by the name of an op without its overload
(aten.add), or by the whole name (aten.max.dim) where overloads differ.
"""

from __future__ import annotations

from typing import Any, Callable, TypeVar

import torch

from .lowering import Refused, Rule, Site, type_of

RULES: dict[str, Rule] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


def rule(*names: str) -> Callable[[Function], Function]:
    """Adds a rule for ops of ATen."""
    def add(function: Function) -> Function:
        for name in names:
            RULES[f"aten.{name}"] = function
        return function
    return add


def rank_of(operand: Any) -> int:
    return len(type_of(operand)[1])


def dim_of(dim: int, rank: int) -> int:
    """A dim that may count from the end."""
    return dim + rank if dim < 0 else dim


def pairs_of(value: Any, count: int) -> list[int]:
    """A list of `count` numbers; one number stands for all."""
    found = [value] if isinstance(value, int) else list(value)
    return found * count if len(found) == 1 else found


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused(reason)


def promoted(a: Any, b: Any) -> torch.dtype:
    """The type in which torch computes with two operands."""
    def stand_in(one: Any) -> Any:
        if not isinstance(one, torch.fx.Node):
            return one
        dtype, shape = type_of(one)
        return torch.empty([1] * len(shape), dtype=dtype)

    found: torch.dtype = torch.result_type(stand_in(a), stand_in(b))
    return found


def elementwise(site: Site, op: str, *operands: Any, **attributes: Any) -> str:
    """An op on operands of the result's type."""
    return str(site.emit(op, [site.read(one, site.dtype) for one in operands], **attributes))
