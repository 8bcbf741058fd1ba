# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch as graphs: a trace in ATen's ops, written op by op with ours."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterator, Optional

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..errors import TesseraError
from ..graphs import Graph
from . import movement, numbers, products  # noqa: F401  (each adds its rules)
from .lowering import Lowering, Missing, Refused, type_of
from .rules import RULES

try:
    from torch.func import functional_call, functionalize
except ImportError:  # before torch 2
    from functorch.experimental import functionalize
    from torch.nn.utils.stateless import functional_call


def graph_of(module: Any, *examples: Any, name: str = "", opaque: bool = False, fake: bool = False) -> Graph:
    """The graph of what a module, a torch.fx.GraphModule or a function of tensors computes.

    examples  arguments to trace it with: shapes, types, and all that are not tensors become part of the graph
    opaque    write ops that cannot be expressed as ops of another system, which run() cannot carry out; otherwise all
              of them are listed in the error: error.reasons has 'node', 'op' and 'reason' of each
    fake      trace shapes only, with FakeTensors: nothing is computed

    Parameters and buffers keep their names and data. Nodes are called after the module that they belong to and the op
    of ATen: 'encoder.0.linear1.addmm'. A program of torch.export is taken as it is, without examples. A module is
    traced in the mode that it is in, so call eval() before.

    >>> class Mlp(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = torch.nn.Linear(8, 4)
    ...     def forward(self, x):
    ...         return torch.relu(self.fc(x))
    >>> mlp, x = Mlp(), torch.randn(2, 8)
    >>> graph = tessera.torch.graph_of(mlp, x)
    >>> [node["op"] for node in graph.nodes], [value.name for value in graph.values if value.kind == "parameter"]
    (['gemm', 'relu'], ['fc.weight', 'fc.bias'])
    >>> done = graph.run(x, target="wse2")
    >>> torch.allclose(torch.from_numpy(done["relu"]), mlp(x), atol=1e-6)
    True
    """
    if hasattr(module, "graph_signature") and hasattr(module, "run_decompositions"):
        return _finished(*_exported(module, opaque), name)
    lowering = Lowering()
    owned = {}
    if isinstance(module, torch.nn.Module):
        owned = {key: one for key, one in [*module.named_parameters(), *module.named_buffers()]}
        name = name or type(module).__name__.lower()
    leaves, form = tree_flatten(examples)
    is_input = [isinstance(leaf, torch.Tensor) for leaf in leaves]
    given = [leaf for leaf, taken in zip(leaves, is_input) if taken]
    paths = _Paths(module)

    def call(*tensors: torch.Tensor) -> Any:
        own = dict(zip(owned, tensors))
        rest = iter(tensors[len(owned):])
        arguments = tree_unflatten([next(rest) if taken else leaf for leaf, taken in zip(leaves, is_input)], form)
        with _Composite(), paths:
            return functional_call(module, own, tuple(arguments)) if own else module(*arguments)

    held = [one.detach() for one in owned.values()]
    traced = make_fx(functionalize(call, remove="mutations"), tracing_mode="fake" if fake else "real")(*held, *given)
    placeholders = [node for node in traced.graph.nodes if node.op == "placeholder"]
    for node, (key, one) in zip(placeholders, owned.items()):
        lowering.results[node] = lowering.value(key, "parameter", one.dtype, one.shape, _data(one))
    names = _input_names(module, examples)
    for node, leaf in zip(placeholders[len(owned):], given):
        lowering.results[node] = lowering.value(next(names), "input", leaf.dtype, leaf.shape)
    known = {id(one): lowering.results[node] for node, one in zip(placeholders, owned.values())}
    paths.follow(traced.graph)
    outputs = _lower(lowering, traced.graph, _results(traced.graph), lambda target: getattr(traced, target), known,
                     paths.name, opaque)
    return _finished(lowering, outputs, name)


def _exported(program: Any, opaque: bool) -> tuple[Lowering, list[str]]:
    """A program of torch.export: parameters, buffers and constants are inputs that its signature names. Buffers and
    inputs that it writes are outputs before those of the module, and are left out."""
    program = program.run_decompositions()
    signature = program.graph_signature
    owned = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **getattr(signature, "inputs_to_lifted_tensor_constants", {})}
    lowering = Lowering()
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        if node.name in owned:
            key = owned[node.name]
            one = program.state_dict[key] if key in program.state_dict else program.constants[key]
            lowering.results[node] = lowering.value(key, "parameter", one.dtype, one.shape, _data(one))
        elif hasattr(node.meta.get("val", node.meta.get("tensor_meta")), "dtype"):  # numbers are part of the program
            try:
                dtype, shape = type_of(node)
            except Refused as refused:
                lowering.missing.append(Missing(node.name, "input", str(refused)))
            else:
                lowering.results[node] = lowering.value(node.name, "input", dtype, shape)
    if lowering.missing:
        raise _not_supported(lowering.missing, opaque)

    def name_of(node: Any) -> str:
        stack = list(node.meta.get("nn_module_stack", {}).values())
        path = stack[-1][0].replace("L['self']", "").strip(".").partition("@")[0] if stack else ""  # fc@1: called again
        return f"{path}.{node.name}" if path else str(node.name)

    results = _results(program.graph)
    results = results[len(results) - len(signature.user_outputs):]
    return lowering, _lower(lowering, program.graph, results, program.constants.get, {}, name_of, opaque)


def _results(graph: Any) -> list[Any]:
    """What a trace returns: nodes, and what is no tensor as it is."""
    returned: list[Any] = tree_flatten([node for node in graph.nodes if node.op == "output"][0].args[0])[0]
    return returned


def _lower(lowering: Lowering, graph: Any, results: list[Any], attribute: Callable[[str], Any], known: dict[int, Any],
           name_of: Callable[[Any], str], opaque: bool) -> list[str]:
    """Writes all nodes of a trace that these results need; returns their names."""
    needed = {one for one in results if isinstance(one, torch.fx.Node)}
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    for node in graph.nodes:
        if node.op == "get_attr" and node in needed:
            tensor = attribute(node.target)
            if not isinstance(tensor, torch.Tensor):  # a part of the program, as of torch.cond
                continue
            node.meta["val"] = tensor
            lowering.results[node] = known.get(id(tensor)) or lowering.value(
                node.name, "constant", tensor.dtype, tensor.shape, _data(tensor))
        elif node.op == "call_function" and node in needed:
            lowering.call(node, name_of(node), RULES, opaque)
    if lowering.missing:
        raise _not_supported(lowering.missing, opaque)
    outputs: list[str] = []
    computed = {name for node in lowering.nodes for name in node["outputs"]}
    for one in results:
        if not isinstance(one, torch.fx.Node):
            if one is None:
                continue
            raise TesseraError(f"an output is {one!r}, not a tensor", code="not_supported")
        name = lowering.results.get(one)
        if not isinstance(name, str):
            what = "is no tensor" if name is None else "has several results"
            raise TesseraError(f"the output {one.name} {what}", code="not_supported")
        if name not in computed or name in outputs:  # an input that is returned, or an output that is returned twice
            copy = lowering.unused(f"{name}.copy")
            lowering.nodes.append({"op": "identity", "inputs": [name], "outputs": [copy]})
            name = copy
        outputs.append(name)
    return outputs


def _finished(lowering: Lowering, outputs: list[str], name: str) -> Graph:
    return Graph(lowering.document(name or "graph", outputs), lowering.data)


def _not_supported(missing: list[Missing], opaque: bool) -> TesseraError:
    lines = [f"{one.node}: {one.op}: {one.reason}" for one in missing]
    count = "1 node" if len(missing) == 1 else f"{len(missing)} nodes"
    help = "" if opaque else "opaque=True keeps them as ops of another system"
    return TesseraError(f"{count} cannot be expressed: " + "; ".join(lines), code="not_supported", help=help,
                        reasons=[one._asdict() for one in missing],
                        rendered="\n".join([f"error[not_supported]: {count} cannot be expressed",
                                            *(f"  {line}" for line in lines), *([f"help: {help}"] if help else [])]))


def _data(tensor: torch.Tensor) -> Optional[torch.Tensor]:
    """The tensor, if it has elements that can be read."""
    is_fake = tensor.is_meta or type(tensor).__name__ == "FakeTensor"
    return None if is_fake else tensor


def _input_names(module: Any, examples: tuple[Any, ...]) -> Iterator[str]:
    """Names of the tensors in the examples: those of the parameters of forward()."""
    called = module.forward if isinstance(module, torch.nn.Module) else module
    try:
        signature = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        signature = []
    for number, example in enumerate(examples):
        positional = number < len(signature) and signature[number].kind is not inspect.Parameter.VAR_POSITIONAL
        name = signature[number].name if positional else f"input_{number}"
        tensors = [leaf for leaf in tree_flatten(example)[0] if isinstance(leaf, torch.Tensor)]
        for part in range(len(tensors)):
            yield name if len(tensors) == 1 else f"{name}_{part}"


class _Composite(TorchFunctionMode):  # type: ignore[misc]
    """Does nothing. While it is active, modules of torch take the way of plain ops instead of one fused op."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


class _Paths(TorchDispatchMode):  # type: ignore[misc]
    """Records which module each op belongs to. Traces have the same ops in the same order, but not all of them."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module
        self._path = [""]
        self._hooks: list[Any] = []
        self._seen: list[tuple[Any, str]] = []
        self._of: dict[Any, str] = {}

    def __enter__(self) -> Any:
        if isinstance(self._module, torch.nn.Module):
            for path, one in self._module.named_modules():
                self._hooks.append(one.register_forward_pre_hook(
                    lambda _module, _inputs, path=path: self._path.append(path)))
                self._hooks.append(one.register_forward_hook(lambda *_: self._leave()))
        return super().__enter__()

    def _leave(self) -> None:
        self._path.pop()

    def __exit__(self, *error: Any) -> Any:
        for hook in self._hooks:
            hook.remove()
        return super().__exit__(*error)

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._seen.append((op, self._path[-1]))
        return op(*args, **(kwargs or {}))

    def follow(self, graph: Any) -> None:
        """Finds the path of each node of the trace."""
        at = 0
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            found = next((i for i in range(at, len(self._seen)) if self._seen[i][0] == node.target), None)
            if found is not None:
                self._of[node] = self._seen[found][1]
                at = found + 1

    def name(self, node: Any) -> str:
        """The name of a node: its path, and what the trace calls it."""
        path = self._of.get(node, "")
        return f"{path}.{node.name}" if path else str(node.name)
