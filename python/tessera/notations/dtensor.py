# SPDX-License-Identifier: Apache-2.0
"""PyTorch's DTensor: each mesh dim chunks the shards of the mesh dims before it."""

from __future__ import annotations

from typing import Any, Sequence

from .._native import Tensor
from ._write import Dtype, tensor


def make(shape: Sequence[int], dtype: Dtype, mesh: Sequence[int], placements: Sequence[Any]) -> Tensor:
    """`placements` has one entry for each mesh dim: the number of the tensor's dim that it shards, 'Replicate',
    'Partial', or an object of torch whose repr() is Shard(dim=0), Replicate(), Partial(sum) or
    _StridedShard(dim=0, sf=2).

    >>> str(tessera.dtensor.make((5, 6), "f32", (2, 2), [0, "Replicate"]))
    'tensor<5x6xf32, dtensor<mesh=[2,2], [Shard(0), Replicate()]>>'
    """
    return tensor(shape, dtype, "dtensor<mesh=[" + ",".join(map(str, mesh)) + "], [" +
                  ", ".join(map(_placement, placements)) + "]>")


def _placement(one: Any) -> str:
    if isinstance(one, int):
        return f"Shard({one})"
    text = one if isinstance(one, str) else repr(one)  # str() of torch's objects is S(0)
    text = text.replace("dim=", "").replace("'", "")
    text = text[1:] if text.startswith("_Partial") else text
    return text if text.endswith(")") else f"{text}()"
