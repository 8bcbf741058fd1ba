# SPDX-License-Identifier: Apache-2.0
"""Answers that Python shares with the command: machines, fits, the propagation of layouts, checks of MLIR.

They have the fields of `tessera VERB --json`, which the pages in docs/ describe.
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Sequence, Union

from . import _native
from .errors import _from_json

TensorOrText = Union["_native.Tensor", str]


def _run(verb: str, arguments: Sequence[str], source: str = "") -> tuple[int, dict[str, Any]]:
    """One JSON answer of the command, and its exit status."""
    status, out, reported = _native.command([verb, "--json", *arguments], source)
    answer: dict[str, Any] = json.loads(out or reported)
    if "error" in answer:
        raise _from_json(answer, source)
    return status, answer


def _flags(request: Mapping[str, Any]) -> list[str]:
    arguments = []
    for name, value in request.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                arguments.append(f"{flag}={one}")
    return arguments


def _answer(verb: str, positionals: Mapping[str, str], **flags: Any) -> dict[str, Any]:
    return _run(verb, [*_flags(flags), "--", *positionals.values()])[1]


def _text(verb: str, positionals: Sequence[str], **flags: Any) -> str:
    """What the command prints for people."""
    status, out, reported = _native.command([verb, *_flags(flags), "--", *positionals])
    if status != 0 and not out:
        _run(verb, [*_flags(flags), "--", *positionals])  # raises the error
    return str(out or reported)


def _checked(tensor: TensorOrText) -> str:
    """The text of a tensor, or of a type as it is. An error in it shows where."""
    if isinstance(tensor, str) and tensor.lstrip().startswith("tensor"):
        _native.parse(tensor)
    return str(tensor)


def targets() -> list[str]:
    """The names of the machines that Tessera knows.

    >>> "wse2" in tessera.targets()
    True
    """
    return [machine["name"] for machine in _run("targets", [])[1]["targets"]]


def target(name: str) -> dict[str, Any]:
    """The description of a machine: a name of targets(), or the path of a JSON file."""
    return _run("targets", ["--", name])[1]


def fits(tensor: TensorOrText, target: str) -> dict[str, Any]:
    """Whether a tensor fits one place of a machine, and why not.

    >>> tessera.fits("tensor<96x96xf32, strided<[96, 1]>>", "wse2")["fits"]
    True
    """
    answer: dict[str, Any] = _answer("show", {"tensor": _checked(tensor)}, target=target)["target"]
    return answer


def propagate(op: str, inputs: Sequence[Optional[TensorOrText]], outputs: Sequence[TensorOrText] = (),
              attributes: Optional[Mapping[str, Any]] = None, target: Optional[str] = None, *,
              output_count: Optional[int] = None) -> dict[str, Any]:
    """Whether an op can run on tensors in given layouts, and what results.

    Inputs are tensors, types such as '64x32xf32' whose layouts are wanted, or None for one that is left out. With
    outputs and no layouts of inputs the question is answered backwards. `output_count` is how many outputs an op has
    whose number is open, such as split.

    >>> answer = tessera.propagate("matmul", ["64x32xf32", "32x64xf32"], ["tensor<64x64xf32, pyflame.Grid(4, 4)>"])
    >>> answer["legal"], answer["inputs"][0]
    (True, 'tensor<64x32xf32, pyflame.Grid(4, 4, replicate=[1])>')
    """
    def operand(one: Optional[TensorOrText]) -> str:
        return "_" if one is None else _checked(one)

    def written(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    flags: list[str] = []
    for one in inputs:
        flags += ["--in", operand(one)]
    for made in outputs:
        flags += ["--out", operand(made)]
    for name, value in (attributes or {}).items():
        flags += ["--attr", f"{name}={written(value)}"]
    if target is not None:
        flags += ["--target", target]
    if output_count is not None:
        flags += ["--outputs", str(output_count)]
    return _run("propagate", [*flags, "--", op])[1]


def check(text: str) -> list[dict[str, Any]]:
    """What the layouts of an MLIR text contradict, with the fixes: one dict for each diagnostic, as docs/checking.md
    describes them.

    >>> text = "func @f(tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32>>>)"
    >>> [(one["code"], one["fix"]) for one in tessera.check(text)]
    [('contradiction', '18x32')]
    >>> tessera.check(text.replace("17x32", "18x32"))
    []
    """
    _, out, reported = _native.command(["check", "--json", "--", "-"], text)
    found: list[dict[str, Any]] = [json.loads(line) for line in (out or reported).splitlines()]
    if found and "error" in found[0]:
        raise _from_json(found[0], text)
    return found
