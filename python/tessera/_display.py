# SPDX-License-Identifier: Apache-2.0
"""Tensors for people: text, figures, and a picture for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import parse
from .commands import _answer, _text

if TYPE_CHECKING:
    from ._native import Tensor


def parsed(text: str) -> Tensor:
    """What pickles of tensors call."""
    return parse(text)


def show(tensor: Tensor) -> str:
    return _text("show", [str(tensor)])


def facts(tensor: Tensor) -> dict[str, Any]:
    return _answer("show", {"tensor": str(tensor)})


def svg(tensor: Tensor) -> str:
    """The picture that `tessera show --svg` draws; notebooks show it."""
    return _text("show", [str(tensor)], svg="-")
