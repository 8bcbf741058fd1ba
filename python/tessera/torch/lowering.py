# SPDX-License-Identifier: Apache-2.0
"""From a trace in ATen's ops to the JSON form of a graph.

A trace is a torch.fx graph whose calls are ops of ATen, as make_fx and torch.export make it. Each call is written by
the rule of its op; rules.py says what a rule is. What has no rule, or what a rule refuses, is collected.
"""

from __future__ import annotations

import json
import operator
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import torch

from ..results import Array
from .types import DTYPES, dtype_of

Operand = Any  # a node of torch.fx, or a number
Result = Union[str, Sequence[Optional[str]]]
Rule = Callable[["Site", Any], Result]


class Refused(Exception):
    """A rule cannot write this call; the text says why."""


class Missing(NamedTuple):
    """A call that cannot be written."""

    node: str
    op: str
    reason: str


def type_of(node: Any) -> tuple[torch.dtype, tuple[int, ...]]:
    """The type of a node's result as torch computed it."""
    found = node.meta.get("val")
    if not isinstance(found, torch.Tensor):
        found = node.meta.get("tensor_meta")
    if found is None or not hasattr(found, "dtype"):
        raise Refused("the type of an operand is not known")
    if not all(isinstance(extent, int) for extent in found.shape):
        raise Refused("a shape is not fixed: export without dynamic shapes")
    return found.dtype, tuple(found.shape)


def element_type(dtype: torch.dtype) -> str:
    """The name of a type that graphs have."""
    if dtype not in DTYPES:
        raise Refused(f"there is no element type for {dtype}")
    return DTYPES[dtype]


def array_of(tensor: torch.Tensor) -> Array:
    """The elements in row-major order, in NumPy's type of the same size."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.int16)
    elif plain.element_size() == 1 and plain.dtype.is_floating_point:
        plain = plain.view(torch.uint8)
    array: Array = plain.numpy()
    return array.view("u2") if tensor.dtype == torch.bfloat16 else array


class Lowering:
    """A graph while it is written: values, data and nodes."""

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self.data: dict[str, Array] = {}
        self.nodes: list[dict[str, Any]] = []
        self.names: set[str] = set()
        self.results: dict[Any, Result] = {}
        self.missing: list[Missing] = []

    def unused(self, name: str) -> str:
        """The name, with a number if it is taken."""
        found, number = name, 0
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def value(self, name: str, kind: str, dtype: torch.dtype, shape: Sequence[int], data: Any = None) -> str:
        name = self.unused(name)
        one: dict[str, Any] = {"name": name, "kind": kind, "dtype": dtype_of(dtype), "shape": list(shape)}
        if isinstance(data, torch.Tensor):
            self.data[name] = array_of(data)
        elif data is not None:
            one["data"] = data
        self.values.append(one)
        return name

    def call(self, node: Any, name: str, rules: dict[str, Rule], opaque: bool) -> None:
        """Writes a node of the trace."""
        if node.target is operator.getitem:
            source = self.results.get(node.args[0])
            found = source[node.args[1]] if source is not None and not isinstance(source, str) else None
            if found is None:
                self.missing.append(Missing(name, str(node.args[0].target),
                                            f"result {node.args[1]} of {node.args[0].name} is used"))
                found = self.unused(name)
            self.results[node] = found
            return
        site = Site(self, node, name)
        op = str(node.target)
        rule = rules.get(op) or rules.get(op.rpartition(".")[0])
        try:
            if rule is None:
                raise Refused("there is no rule for it")
            self.results[node] = site.finish(rule(site, site.arguments()))
        except Refused as refused:
            site.undo()
            if not opaque:
                self.missing.append(Missing(name, op, str(refused)))
            try:
                self.results[node] = site.opaque(op)
            except Refused as reason:  # its result is no tensor that graphs have
                if opaque:
                    self.missing.append(Missing(name, op, str(reason)))

    def document(self, name: str, outputs: Sequence[str]) -> dict[str, Any]:
        """The graph, without what no output needs and without repetitions of the same call."""
        known: dict[str, list[str]] = {}
        renamed: dict[str, str] = {}
        once = []
        for node in self.nodes:
            node = {**node, "inputs": [renamed.get(one, one) for one in node["inputs"]]}
            key = json.dumps([node["op"], node["inputs"], node.get("attributes"), len(node["outputs"])])
            if key in known and not set(outputs).intersection(node["outputs"]):
                renamed.update(zip(node["outputs"], known[key]))
            else:
                known[key] = node["outputs"]
                once.append(node)
        needed = set(outputs)
        kept = []
        for node in reversed(once):
            if needed.intersection(node["outputs"]):
                needed.update(one for one in [*node["inputs"], *node["outputs"]] if one is not None)
                kept.append(node)
        values = [one for one in self.values if one["name"] in needed or one["kind"] == "input"]
        self.data = {one["name"]: self.data[one["name"]] for one in values if one["name"] in self.data}
        return {"tessera_graph": 1, "name": name, "values": values, "nodes": kept[::-1], "outputs": list(outputs)}


class Site:
    """Where a rule writes the nodes of one call."""

    def __init__(self, lowering: Lowering, node: Any, name: str) -> None:
        self.lowering = lowering
        self.node = node
        self.name = name
        self._first_node = len(lowering.nodes)
        self._first_value = len(lowering.values)

    def arguments(self) -> Any:
        """The arguments by the names of the op's schema, with its defaults."""
        found = {}
        given = list(self.node.args)
        for number, one in enumerate(self.node.target._schema.arguments):
            if number < len(given) and not one.kwarg_only:
                found[one.name] = given[number]
            elif one.name in self.node.kwargs:
                found[one.name] = self.node.kwargs[one.name]
            else:
                found[one.name] = one.default_value
        return SimpleNamespace(**found)

    @property
    def dtype(self) -> torch.dtype:
        """Of the result."""
        return type_of(self.node)[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return type_of(self.node)[1]

    def emit(self, op: str, inputs: Sequence[Optional[str]], outputs: int = 1, **attributes: Any) -> Any:
        """Applies an op of ours; returns the name of its output, or a list of several."""
        names = [self.lowering.unused(f"{self.name}.{op}") for _ in range(outputs)]
        node: dict[str, Any] = {"op": op, "inputs": list(inputs), "outputs": names}
        if attributes:
            node["attributes"] = attributes
        self.lowering.nodes.append(node)
        return names[0] if outputs == 1 else names

    def read(self, operand: Operand, dtype: Optional[torch.dtype] = None) -> str:
        """The value of an operand, cast where the call needs another type; numbers become constants."""
        if not isinstance(operand, torch.fx.Node):
            return self.number(operand, dtype or self.dtype)
        name = self.lowering.results.get(operand)
        if not isinstance(name, str):
            raise Refused(f"{operand.name} is no tensor" if name is None else f"{operand.name} has several results")
        return self.cast(name, type_of(operand)[0], dtype)

    def cast(self, name: str, held: torch.dtype, wanted: Optional[torch.dtype]) -> str:
        if wanted is None or wanted == held:
            return name
        return str(self.emit("cast", [name], to=element_type(wanted)))

    def number(self, number: Any, dtype: torch.dtype, shape: Sequence[int] = ()) -> str:
        """A constant whose elements are all equal."""
        return self.constant(torch.full(tuple(shape), number, dtype=dtype))

    def constant(self, tensor: torch.Tensor) -> str:
        element_type(tensor.dtype)
        return self.lowering.value(f"{self.name}.constant", "constant", tensor.dtype, tensor.shape, tensor)

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        return str(self.emit("reshape", [name], shape=[int(extent) for extent in shape]))

    def finish(self, result: Result) -> Result:
        """Gives the results the name of the call, with numbers if there are several."""
        if isinstance(result, str):
            return self._named(result, self.name, self.node)
        several = sum(one is not None for one in result) > 1
        picks = {user.args[1]: user for user in self.node.users if user.target is operator.getitem}
        return [None if one is None else self._named(one, f"{self.name}.{at}" if several else self.name, picks.get(at))
                for at, one in enumerate(result)]

    def _named(self, result: str, wanted: str, typed: Any) -> str:
        """Renames a result that was written here; its type must be that of a node of the trace."""
        mine = self.lowering.nodes[self._first_node:]
        made = [node for node in mine if result in node["outputs"]]
        if not made:
            return result
        name = self.lowering.unused(wanted)
        for node in mine:
            for part in ("inputs", "outputs"):
                node[part] = [name if one == result else one for one in node[part]]
        made[0].setdefault("name", self.name)
        if typed is not None:
            dtype, shape = type_of(typed)
            self.lowering.values.append({"name": name, "kind": "computed", "dtype": element_type(dtype),
                                         "shape": list(shape)})
        return name

    def undo(self) -> None:
        """Takes back what the rule has written."""
        del self.lowering.nodes[self._first_node:]
        for value in self.lowering.values[self._first_value:]:
            self.lowering.data.pop(value["name"], None)
        del self.lowering.values[self._first_value:]

    def opaque(self, op: str) -> Result:
        """The call as an op of another system, which has types only."""
        picks = {user.args[1]: user for user in self.node.users if user.target is operator.getitem}
        found: list[Optional[str]] = [None] * (max(picks, default=0) + 1)
        types = {number: type_of(typed) for number, typed in (picks.items() if picks else [(0, self.node)])}
        names = {number: element_type(dtype) for number, (dtype, _) in types.items()}
        for number, (_, shape) in types.items():
            found[number] = self.lowering.unused(self.name)
            self.lowering.values.append({"name": found[number], "kind": "computed", "dtype": names[number],
                                         "shape": list(shape)})
        outputs = [one for one in found if one is not None]
        reads = [self.lowering.results.get(one) for one in self.node.all_input_nodes]
        inputs = [one for one in reads if isinstance(one, str)]
        self.lowering.nodes.append({"name": self.name, "op": "opaque", "inputs": inputs, "outputs": outputs,
                                    "attributes": {"op": op}})
        return found if picks else outputs[0]
