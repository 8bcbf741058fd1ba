# SPDX-License-Identifier: Apache-2.0
"""One strategy for every node of a graph within a memory limit."""

from __future__ import annotations

import json
from typing import Any, Mapping, NamedTuple, Optional, Union

import numpy as np

from . import _native
from .results import Array

#: A cost that means "not allowed".
FORBIDDEN: int = _native.forbidden_cost


class Choice(NamedTuple):
    """A strategy per node, and bounds that show how good the choice is. `choices` is empty unless outcome is
    'chosen' (else 'infeasible', which is proven, or 'unknown')."""

    outcome: str
    choices: Array
    cost: int
    lower_bound: int
    gap: float
    optimal: bool
    seconds: float
    rounds: int
    found_by: str

    def __bool__(self) -> bool:
        return self.outcome == "chosen"


def choose(problem: Union[str, Mapping[str, Any]], *, seconds: float = 10.0, rounds: Optional[int] = None,
           seed: int = 1, threads: int = 2) -> Choice:
    """The best choice that can be found in the given time; docs/planning.md describes problem and search.

    The problem is a dict as in the JSON file, with or without the outer "problem", or the JSON text. The same seed
    and the same number of rounds give the same choice on every machine.

    >>> choice = tessera.choose({
    ...     "nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[5, 1], [0, 2]], "usages": [[4, 8], [5, 1]]},
    ...     "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 3, 0]]}, "usage_limit": 10})
    >>> choice.choices, choice.cost, choice.optimal
    (array([1, 1]), 3, True)
    """
    if isinstance(problem, str):
        text = problem
    else:
        text = json.dumps(problem if "problem" in problem else {"problem": problem}, default=_plain)
    return Choice(**_native.solve_choices(text, seconds, rounds, seed, threads))


def _plain(value: Any) -> Any:
    """NumPy's arrays and numbers as those of Python."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be part of a problem")
