# SPDX-License-Identifier: Apache-2.0
"""Models as graphs: what they consist of, where layouts lead, and what a run on a machine returns.

docs/graph.md describes graphs and their JSON form, docs/run.md what happens in a run. tessera.torch.graph_of() makes
graphs of PyTorch's modules.
"""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _native
from .commands import _flags, _run, propagate
from .errors import TesseraError
from .results import Array

if TYPE_CHECKING:
    from .planning import ModelPlan

__all__ = ["Graph", "PropagatedNode", "Propagation", "Run", "Value"]

_DATA = "data.bin"
_ALIGNMENT = 64  # bytes, of each value in a file of data


class Value(NamedTuple):
    """A tensor of a graph. kind is input, parameter, constant or computed."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def type(self) -> str:
        """As propagate() takes types: '64x32xf32'."""
        return "".join(f"{extent}x" for extent in self.shape) + self.dtype


class Run:
    """What a run of a graph returned. `figures` has all fields of `tessera run --json` (docs/run.md)."""

    def __init__(self, figures: dict[str, Any], outputs: dict[str, Array]) -> None:
        self.figures = figures
        self.outputs = outputs

    def __getitem__(self, output: Union[int, str]) -> Array:
        """An output by its name or number."""
        return self.outputs[output] if isinstance(output, str) else list(self.outputs.values())[output]

    def __iter__(self) -> Iterator[Array]:
        return iter(self.outputs.values())

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def agrees(self) -> Optional[bool]:
        """With check=True: whether every op had the results of the same op on whole tensors."""
        return self.figures.get("agrees")

    @property
    def cycles(self) -> Optional[float]:
        """Predicted, of the machine's clock; None where the machine lacks a figure."""
        return self.figures["cycles_predicted"]  # type: ignore[no-any-return]

    @property
    def peak_bytes(self) -> dict[str, int]:
        """Of each part of each memory of the machine."""
        return self.figures["peak_bytes"]  # type: ignore[no-any-return]

    @property
    def ops(self) -> list[dict[str, Any]]:
        """For each node: places, messages, bytes and cycles."""
        return self.figures["ops"]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in self.outputs.items())
        return f"<run of {len(self.ops)} ops: {shapes}>"


class PropagatedNode(NamedTuple):
    """What propagation found for a node. `answer` is that of tessera.propagate() for the layouts it runs with.

    legal   whether it runs on its operands as they lie; None where no operand has a layout: its
            outputs get what the nodes that read them need
    reason  why not
    moves   operands that take another layout first: the nearest with which it runs
    """

    name: str
    op: str
    legal: Optional[bool]
    reason: str
    moves: dict[str, str]
    answer: dict[str, Any]


class Propagation(NamedTuple):
    """Layouts carried through a graph: of values by name, and what happens at each node, in order."""

    tensors: dict[str, str]
    nodes: list[PropagatedNode]

    @property
    def moves(self) -> list[tuple[str, str, str]]:
        """(node, value, tensor): what is laid out anew before a node can run."""
        return [(node.name, value, tensor) for node in self.nodes for value, tensor in node.moves.items()]

    @property
    def stopped(self) -> list[PropagatedNode]:
        """Nodes that cannot run on their operands, and for which no other layouts were found."""
        return [node for node in self.nodes if node.legal is False and not node.answer["legal"]]


class Graph:
    """A model: values, and nodes that apply ops to them.

    Made from the JSON form of docs/graph.md, as a dict or text; read() and make() make others. It is checked, nodes
    are put into an order in which they can run, and the types of all values are inferred.

    data  arrays for parameters and constants by name, besides what the document has itself

    >>> graph = tessera.Graph({
    ...     "tessera_graph": 1,
    ...     "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [2, 3]},
    ...                {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [3, 4]}],
    ...     "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]},
    ...               {"op": "relu", "inputs": ["h"], "outputs": ["y"]}],
    ...     "outputs": ["y"]}, data={"w": np.ones((3, 4), np.float32)})
    >>> graph
    <graph of 2 nodes: x f32[2, 3] -> y f32[2, 4]>
    >>> graph.run(np.eye(2, 3, dtype=np.float32), target="wse2")["y"]
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]], dtype=float32)
    """

    def __init__(self, document: Union[str, Mapping[str, Any]], data: Optional[Mapping[str, Any]] = None) -> None:
        text = document if isinstance(document, str) else json.dumps(document)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "graph.json")
            _run("graph", [f"--out={out}", "--", "-"], text)
            self._document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        self._values = {one["name"]: Value(one["name"], one.get("kind", "computed"), one["dtype"],
                                           tuple(one["shape"])) for one in self._document["values"]}
        self._data: dict[str, Array] = {}
        for name, array in (data or {}).items():
            value = self.value(name)
            if value.kind not in ("parameter", "constant"):
                raise TesseraError(f"'{name}' is an {value.kind}: it has no data", code="usage",
                                   help="give inputs to run()")
            self._data[name] = _array_of(value, array)

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Graph:
        """A model in a file: JSON, or ONNX by its name."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "graph.json")
            _run("graph", [f"--out={out}", "--", os.fspath(path)])
            document = json.loads(out.read_text(encoding="utf-8"))
        for one in document["values"]:
            if "file" in one.get("data", {}):
                one["data"]["file"] = str(Path(path).resolve().parent / one["data"]["file"])
        return cls(document)

    @classmethod
    def make(cls, model: str, **flags: Any) -> Graph:
        """A well-known model with the flags of `tessera graph --make`; its parameters have no data.

        >>> tessera.Graph.make("mlp", batch_size=8)
        <graph of 9 nodes: x f32[8, 1024] -> relu_2 f32[8, 10]>
        """
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "graph.json")
            _run("graph", [*_flags({"make": model, **flags}), f"--out={out}"])
            return cls(out.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        return str(self._document.get("name", ""))

    @property
    def document(self) -> dict[str, Any]:
        """The JSON form, without the arrays of data: a copy."""
        copy: dict[str, Any] = json.loads(json.dumps(self._document))
        return copy

    @property
    def values(self) -> list[Value]:
        """All tensors of the graph."""
        return list(self._values.values())

    @property
    def inputs(self) -> list[Value]:
        """What run() takes, in order."""
        return [one for one in self._values.values() if one.kind == "input"]

    @property
    def outputs(self) -> list[Value]:
        """What run() returns, in order."""
        return [self._values[name] for name in self._document["outputs"]]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """op, inputs, outputs and, where there are any, name and attributes; in an order in which they can run."""
        nodes: list[dict[str, Any]] = self.document["nodes"]
        return nodes

    def value(self, name: str) -> Value:
        """A value by its name."""
        if name not in self._values:
            raise TesseraError(f"the graph has no value '{name}'", code="unknown_name",
                               help=f"inputs are {', '.join(one.name for one in self.inputs)}")
        return self._values[name]

    def facts(self, *, decompose: str = "", fuse: bool = False) -> dict[str, Any]:
        """What the model consists of: the fields of `tessera graph --json`.

        decompose  ops to count as others that they are written with: 'softmax,gelu' or 'all'
        fuse       list the groups of nodes that can run as one

        >>> facts = tessera.Graph.make("mlp", batch_size=8).facts()
        >>> facts["parameters"], facts["ops"]["matmul"]
        (658698, 3)
        """
        flags = _flags({"decompose": decompose or None, "fuse": fuse})
        return _run("graph", [*flags, "--", "-"], self._text())[1]

    def decomposed(self, ops: str = "all") -> Graph:
        """The same model, with these ops written with simpler ones."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "graph.json")
            _run("graph", [f"--decompose={ops}", f"--out={out}", "--", "-"], json.dumps(self._document))
            other = Graph(out.read_text(encoding="utf-8"))
        other._data = {name: array for name, array in self._data.items() if name in other._values}
        return other

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the model: ONNX if the name ends in .onnx, else JSON, with its data beside it in NAME.bin."""
        target = Path(path)
        if target.suffix.lower() == ".onnx":
            with tempfile.TemporaryDirectory() as folder:
                model = Path(folder, "graph.json")
                model.write_text(self._text_with_data(), encoding="utf-8")
                _run("graph", [f"--out={target}", "--", str(model)])
        else:
            self._write(target, target.stem + ".bin")

    def _repr_svg_(self) -> Optional[str]:
        return self.svg()

    def svg(self) -> str:
        """The picture that `tessera graph --svg` draws; notebooks show it."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "graph.svg")
            _run("graph", [f"--svg={out}", "--", "-"], self._text())
            return out.read_text(encoding="utf-8")

    def run(self, *inputs: Any, target: Optional[str] = None, layouts: Optional[Mapping[str, str]] = None,
            check: bool = False, seed: Optional[int] = None, threads: Optional[int] = None,
            values: Optional[Mapping[str, Any]] = None, plan: Optional[ModelPlan] = None) -> Run:
        """Carries out the model on a device in this process that has the memories of a machine.

        inputs   arrays, in the order of `inputs`
        values   inputs and parameters by name
        layouts  layouts by name of value, in any notation; names may contain *, and the first that matches counts.
                 Values without one are cut by their size
        check    compare every op with the same op on whole tensors
        seed     random elements for what has none
        plan     a plan of this model by tessera.plan(), instead of a target and layouts

        Types that NumPy lacks are unsigned integers of the same size (bf16).

        >>> mlp = tessera.Graph.make("mlp", batch_size=8)
        >>> done = mlp.run(target="wse2", seed=1, check=True, layouts={"x": "pyflame.Grid(4, 32)"})
        >>> done.agrees, done["relu_2"].shape, len(done.ops)
        (True, (8, 10), 9)
        """
        names = [one.name for one in self.inputs]
        if len(inputs) > len(names):
            raise TesseraError(f"{len(inputs)} arrays for {len(names)} inputs", code="usage",
                               help=f"inputs are {', '.join(names)}")
        if plan is not None and layouts:
            raise TesseraError("plan and layouts both say where values are", code="usage",
                               help="pin layouts when planning: tessera.plan(graph, target, pins=..)")
        if target is None and plan is not None:
            target = plan.target
        if target is None:
            raise TesseraError("a run needs a machine", code="usage", help="give target= or plan=")
        given = {**dict(zip(names, inputs)), **(values or {})}
        with tempfile.TemporaryDirectory() as folder:
            flags: dict[str, Any] = {"target": target, "check": check, "random": seed, "threads": threads,
                                     "out": folder}
            flags["in"] = []
            for number, (name, array) in enumerate(given.items()):
                np.save(Path(folder, f"input{number}.npy"), _array_of(self.value(name), array))
                flags["in"].append(f"{name}={folder}/input{number}.npy")
            if layouts:
                Path(folder, "layouts").write_text(_layout_lines(layouts), encoding="utf-8")
                flags["layouts"] = f"{folder}/layouts"
            if plan is not None:
                plan.save(Path(folder, "plan.json"))
                flags["plan"] = f"{folder}/plan.json"
            model = self._write(Path(folder, "graph.json"), _DATA)
            figures = _run("run", [*_flags(flags), "--", str(model)])[1]
            outputs = {}
            for value, output in zip(self.outputs, figures["outputs"]):
                array = np.load(output.pop("file"))
                outputs[value.name] = array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
        return Run(figures, outputs)

    def propagate(self, layouts: Mapping[str, str], target: Optional[str] = None) -> Propagation:
        """Carries layouts through the graph: tessera.propagate() node by node, with what each left behind.

        layouts  as in run(); values without one get what the first node that reads them needs
        target   a machine whose kernels must allow each node

        A node that cannot run on its operands as they lie is given the nearest layouts with which it can.

        >>> mlp = tessera.Graph.make("mlp", batch_size=8)
        >>> found = mlp.propagate({"x": "pyflame.Grid(4, 1)"})
        >>> found.tensors["relu_2"], found.moves, len(found.stopped)
        ('tensor<8x10xf32, pyflame.RowPartition(4)>', [], 0)
        """
        tensors: dict[str, str] = {}
        for value in self._values.values():
            layout = _layout_for(value.name, layouts)
            if layout is not None and value.kind != "computed":
                tensors[value.name] = str(_native.parse(f"tensor<{value.type}, {layout}>"))
        nodes = [self._propagated(number, node, layouts, tensors, target)
                 for number, node in enumerate(self._document["nodes"])]
        return Propagation(tensors, nodes)

    def _propagated(self, number: int, node: dict[str, Any], layouts: Mapping[str, str], tensors: dict[str, str],
                    target: Optional[str]) -> PropagatedNode:
        """One node; adds the layouts of its outputs, and of operands that had none, to `tensors`."""
        name = node.get("name") or f"{node['op']}_{number}"
        reads: list[Optional[str]] = node["inputs"]
        held = [None if one is None else tensors.get(one, self._values[one].type) for one in reads]
        wanted = []
        for made in node["outputs"]:
            layout = _layout_for(made, layouts)
            if layout is not None:
                wanted.append(f"tensor<{self._values[made].type}, {layout}>")
        if len(wanted) != len(node["outputs"]):
            wanted = []

        def ask(operands: Sequence[Optional[str]]) -> dict[str, Any]:
            return propagate(node["op"], operands, wanted, node.get("attributes"), target,
                             output_count=len(node["outputs"]))

        if not wanted and not any(one in tensors for one in reads):
            return PropagatedNode(name, node["op"], None, "no operand has a layout", {}, {})
        answer = ask(held)
        legal, reason, moves = bool(answer["legal"]), answer["reason"] or "", {}
        if not legal and answer["alternatives"]:
            nearest = answer["alternatives"][0]
            moves = {one: new for one, old, new in zip(reads, held, nearest)
                     if one is not None and one in tensors and new is not None and new != old}
            answer = ask(nearest)
        if answer["legal"]:
            for one, tensor in zip(reads, answer["inputs"]):
                if one is not None and tensor is not None:
                    tensors.setdefault(one, tensor)
            tensors.update(zip(node["outputs"], answer["outputs"]))
        return PropagatedNode(name, node["op"], legal, reason, moves, answer)

    def _text(self, file: str = _DATA) -> str:
        """The JSON text; data that are arrays here are named as parts of a file."""
        document = self.document
        offset = 0
        for one in document["values"]:
            array = self._data.get(one["name"])
            if array is not None:
                one["data"] = {"file": file, "offset": offset}
                offset += array.nbytes + -array.nbytes % _ALIGNMENT
        return json.dumps(document)

    def _text_with_data(self) -> str:
        """The JSON text with all data in it, for files that have no other file beside them."""
        document = self.document
        for one in document["values"]:
            array = self._data.get(one["name"])
            data = one.get("data", {})
            if array is not None:
                one["data"] = {"base64": base64.b64encode(array.tobytes()).decode("ascii")}
            elif "file" in data:
                with open(data["file"], "rb") as file:
                    file.seek(data.get("offset", 0))
                    count = int(np.prod(one["shape"], dtype=np.int64))
                    elements = file.read(_native.dtype_bytes(one["dtype"], count))
                one["data"] = {"base64": base64.b64encode(elements).decode("ascii")}
        return json.dumps(document)

    def _write(self, path: Path, data: str) -> Path:
        """Writes the graph, and a file of its data where it has any."""
        path.write_text(self._text(data), encoding="utf-8")
        if self._data:
            with open(path.parent / data, "wb") as file:
                for one in self._document["values"]:
                    array = self._data.get(one["name"])
                    if array is not None:
                        file.write(array.tobytes())
                        file.write(bytes(-array.nbytes % _ALIGNMENT))
        return path

    def __repr__(self) -> str:
        def types(values: Sequence[Value]) -> str:
            return ", ".join(f"{one.name} {one.dtype}{list(one.shape)}" for one in values)

        return f"<graph of {len(self._document['nodes'])} nodes: {types(self.inputs)} -> {types(self.outputs)}>"


def _layout_lines(layouts: Mapping[str, str]) -> str:
    """A file of layouts, as the command reads it."""
    return "".join(f"{name}: {layout}\n" for name, layout in layouts.items())


def _layout_for(name: str, layouts: Mapping[str, str]) -> Optional[str]:
    """The first layout whose pattern matches a name."""
    for pattern, layout in layouts.items():
        if re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name):
            return layout
    return None


#: NumPy's type for an element type, where they are not called alike.
_NUMPY = {"i1": "?", "bf16": "u2"}


def _array_of(value: Value, array: Any) -> Array:
    """An array with the type and shape of a value, in C order. Numbers and lists are converted, arrays never."""
    known = _NUMPY.get(value.dtype)
    if known is None:
        match = re.fullmatch(r"(f|si|ui|i)(\d+)(\w*)", value.dtype)
        bits = int(match[2]) if match else 0
        if match is None or bits % 8 or (match[1] == "f" and match[3] and bits != 8):
            raise TesseraError(f"NumPy has no type for {value.dtype}", code="bad_dtype")
        kind = {"f": "f", "ui": "u"}.get(match[1], "i") if not match[3] else "u"
        known = f"{kind}{bits // 8}"
    wanted = np.dtype(known)
    found = array if isinstance(array, np.ndarray) else np.asarray(
        array, dtype=None if hasattr(array, "__array__") else wanted)
    if found.dtype != wanted:
        raise TesseraError(f"'{value.name}' is {value.dtype}, found an array of {found.dtype}", code="bad_dtype",
                           help=f"give an array of {wanted}")
    if found.shape != value.shape:
        raise TesseraError(f"'{value.name}' is {value.type}, found an array of shape {list(found.shape)}",
                           code="shape_mismatch")
    return np.asarray(found, order="C")
