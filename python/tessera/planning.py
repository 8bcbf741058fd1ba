# SPDX-License-Identifier: Apache-2.0
"""Plans: of a relayout, made ready to run, and of a whole model on a machine."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Union, overload

from . import _native
from .commands import _flags, _run
from .errors import TesseraError
from .graphs import Graph, _layout_lines
from .moving import TensorOrText, plan_relayout

if TYPE_CHECKING:
    from ._native import Plan

__all__ = ["ModelPlan", "PlanFinding", "plan"]


class PlanFinding(NamedTuple):
    """One thing that is wrong with a plan: `flaw` is a stable name, `message` has names and numbers."""

    flaw: str
    message: str


class ModelPlan:
    """How a model runs on a machine: the division of every op's work, a layout per value, moves, and offsets.

    Made by plan() or read(). `figures` has all fields of `tessera plan --json`, `document` those of the plan's file
    (docs/planning.md); a plan that was read has no figures but those of its file.

    >>> mlp = tessera.Graph.make("mlp", batch_size=8)
    >>> plan = tessera.plan(mlp, "wormhole", candidates=4)
    >>> plan
    <plan of mlp on wormhole: 9 ops, ... cycles>
    >>> plan.check(), plan.layouts["x"].split(", ")[0]
    ([], 'tensor<8x1024xf32')
    >>> mlp.run(plan=plan, seed=1, check=True).agrees
    True
    """

    def __init__(self, graph: Graph, target: str, text: str, figures: Optional[dict[str, Any]] = None) -> None:
        self.graph = graph
        self.target = target
        self.json = text
        self.document: dict[str, Any] = json.loads(text)
        self.figures: dict[str, Any] = figures if figures is not None else {}

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]], graph: Graph, target: Optional[str] = None) -> ModelPlan:
        """The plan in a file that save() or `tessera plan --out` wrote. It must be of this model."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            document = json.loads(text)
            found = target if target is not None else document["target"]["name"]
        except (ValueError, KeyError, TypeError):
            raise TesseraError(f"{os.fspath(path)!r} is no plan", code="syntax",
                               help="name a file that tessera plan --out wrote") from None
        return cls(graph, found, text)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the file that `tessera run --plan` takes."""
        Path(path).write_text(self.json, encoding="utf-8")

    def check(self) -> list[PlanFinding]:
        """Everything that is wrong with it, by code that is independent of the planner: layouts, memory, prices and
        sums."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "plan.json")
            self.save(file)
            model = self.graph._write(Path(folder, "graph.json"), "data.bin")
            answer = _run("plan", [f"--target={self.target}", f"--check={file}", "--", str(model)])[1]
        return [PlanFinding(one["flaw"], one["message"]) for one in answer["findings"]]

    @property
    def layouts(self) -> dict[str, str]:
        """The tensor of each value, in the native notation: for tessera.parse()."""
        return {one["name"]: one["layout"] for one in self.document["values"]}

    @property
    def ops(self) -> list[dict[str, Any]]:
        """In the order in which they run: name, op, divided (its work), bring_cycles, compute_cycles, settle_cycles,
        moves with their algorithms, and runner_up: the best other division and what it would cost more."""
        return self.document["ops"]  # type: ignore[no-any-return]

    @property
    def buffers(self) -> list[dict[str, Any]]:
        """What lies where in each memory: name, space, from, to (moments), bytes, offset."""
        return self.document["buffers"]  # type: ignore[no-any-return]

    @property
    def cycles(self) -> float:
        """Predicted, of the machine's clock."""
        return float(self.document["cycles"])

    @property
    def seconds(self) -> Optional[float]:
        """Predicted; None for a machine without a clock."""
        return self.document["seconds"]  # type: ignore[no-any-return]

    @property
    def lower_bound_cycles(self) -> float:
        """No plan of the candidates that were looked at takes less."""
        return float(self.document["lower_bound_cycles"])

    @property
    def gap(self) -> float:
        """(cycles - lower_bound_cycles) / cycles."""
        return float(self.document["gap"])

    @property
    def baselines(self) -> dict[str, Optional[float]]:
        """Cycles of simpler ways: max_grid, each_op_alone, greedy_forward; None where they cannot be carried out."""
        return self.document["baseline_cycles"]  # type: ignore[no-any-return]

    @property
    def peak_bytes(self) -> dict[str, int]:
        """Of each part of each memory: the highest end of its buffers."""
        peaks: dict[str, int] = {}
        for buffer in self.buffers:
            peaks[buffer["space"]] = max(peaks.get(buffer["space"], 0), buffer["offset"] + buffer["bytes"])
        return peaks

    def __repr__(self) -> str:
        name = self.graph.name or "a graph"
        return f"<plan of {name} on {self.target}: {len(self.ops)} ops, {self.cycles:.0f} cycles>"


@overload
def plan(source: TensorOrText, destination: TensorOrText, *, padding: str = ..., rounding: str = ...) -> Plan: ...


@overload
def plan(source: Graph, destination: str = ..., *, target: str = ..., pins: Optional[Mapping[str, str]] = ...,
         objective: str = ..., seconds: Optional[float] = ..., candidates: Optional[int] = ...,
         threads: Optional[int] = ...) -> ModelPlan: ...


def plan(source: Any, destination: Any = None, *, target: Optional[str] = None, padding: str = "promised",
         rounding: str = "checked", pins: Optional[Mapping[str, str]] = None, objective: str = "time",
         seconds: Optional[float] = None, candidates: Optional[int] = None, threads: Optional[int] = None) -> Any:
    """Of two tensors: a relayout made ready to run, plan(array) or plan(array, out=other), as often as needed.

    padding   what the padding of the destination holds: 'promised' by its layout (else unchanged), 'zero' where
              nothing is promised, or 'leave' it unchanged
    rounding  numbers that the destination type cannot represent: 'checked' raises, 'round' allows fractions,
              'saturate' clips

    >>> to_tiles = tessera.plan("tensor<53x63xf32, strided<[63, 1]>>", "tensor<53x63xf32, pyflame.Grid(3, 2)>")
    >>> shards = to_tiles(np.arange(53 * 63, dtype=np.float32).reshape(53, 63))
    >>> shards.shape, shards[2, 1, 129]
    ((3, 2, 576), 2553.0)

    Of a Graph and a machine: a ModelPlan, with the fewest predicted cycles that were found within the memories.

    pins        layouts by name of value that must be kept; names may contain *, and the first that matches counts
    objective   'time', or 'memory': the least per place, then the fewest cycles
    seconds     limit of the search; default 10. Pricing the candidates comes before that
    candidates  divisions of work per op and layouts per value; default 20 and 16

    A model that does not fit raises TesseraError (does_not_fit), which says what is missing where.

    >>> mlp = tessera.Graph.make("mlp", batch_size=8)
    >>> found = tessera.plan(mlp, "wormhole", candidates=4)
    >>> found.lower_bound_cycles <= found.cycles, found.gap < 0.01
    (True, True)
    """
    machine = target if target is not None else destination
    if not isinstance(source, Graph):
        return plan_relayout(source, machine, padding=padding, rounding=rounding)
    if not isinstance(machine, str):
        raise TypeError("a plan of a graph needs the name of a machine")
    flags: dict[str, Any] = {"target": machine, "objective": objective, "seconds": seconds, "candidates": candidates,
                             "threads": threads}
    with tempfile.TemporaryDirectory() as folder:
        if pins:
            Path(folder, "pins").write_text(_layout_lines(pins), encoding="utf-8")
            flags["pins"] = f"{folder}/pins"
        flags["out"] = f"{folder}/plan.json"
        model = source._write(Path(folder, "graph.json"), "data.bin")
        figures = _run("plan", [*_flags(flags), "--", str(model)])[1]
        return ModelPlan(source, machine, Path(flags["out"]).read_text(encoding="utf-8"), figures)
