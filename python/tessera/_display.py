# SPDX-License-Identifier: Apache-2.0
"""Tensors for people: text, figures, and a picture for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Optional

from ._native import parse
from .commands import _answer, _text
from .errors import TesseraError

if TYPE_CHECKING:
    from ._native import Tensor

_CELL = 104  # pixels
_LINE = 15
_MOST_ROWS = 8
_MOST_COLUMNS = 12
_MOST_LINES = 4
_COLOURS = ("#dbeafe", "#dcfce7", "#fef9c3", "#fae8ff", "#ffedd5", "#e0e7ff")


def parsed(text: str) -> Tensor:
    """What pickles of tensors call."""
    return parse(text)


def show(tensor: Tensor) -> str:
    return _text("show", [str(tensor)])


def facts(tensor: Tensor) -> dict[str, Any]:
    return _answer("show", {"tensor": str(tensor)})


def _shown(total: int, room: int) -> list[Optional[int]]:
    """Which of `total` rows or columns are drawn; None stands for those left out."""
    if total <= room:
        return list(range(total))
    return [*range(room - 2), None, total - 1]


def _held(tensor: Tensor, place: tuple[int, ...]) -> list[str]:
    """The ranges that a place holds, one line for each dim."""
    boxes = tensor.held_at(place)
    if not boxes:
        return ["empty"]
    if len(boxes) > 1:
        return [f"{len(boxes)} boxes"]
    lines = [f"d{dim} {part.start}:{part.stop}" for dim, part in enumerate(boxes[0])]
    return (lines[:_MOST_LINES - 1] + ["..."] if len(lines) > _MOST_LINES else lines) or ["the scalar"]


def svg(tensor: Tensor) -> Optional[str]:
    """The tensor over its mesh: a box for each place with the ranges that it holds; one colour for each class of
    places. None where there is no such picture: views, pieces, meshes of more than two axes."""
    if tensor.kind != "layout" or not 1 <= len(tensor.mesh) <= 2 or 0 in tensor.mesh or 0 in tensor.shape:
        return None
    rows, columns = tensor.mesh if len(tensor.mesh) == 2 else (1, tensor.mesh[0])
    try:
        classes = tensor.place_classes()
        cells = {(r, c): _held(tensor, (r, c) if len(tensor.mesh) == 2 else (c,))
                 for r in _shown(rows, _MOST_ROWS) for c in _shown(columns, _MOST_COLUMNS)
                 if r is not None and c is not None}
        colours: dict[tuple[int, ...], str] = {}
        if tensor.places <= 4096:
            for number, one in enumerate(classes):
                for place in one.members():
                    colours[place] = "#f3f4f6" if one.elements == 0 else _COLOURS[number % len(_COLOURS)]
    except TesseraError:
        return None
    height = _LINE * max(len(lines) for lines in cells.values()) + 12
    left, top = 44, 48
    shown_rows, shown_columns = _shown(rows, _MOST_ROWS), _shown(columns, _MOST_COLUMNS)
    width = left + _CELL * len(shown_columns) + 10
    total = top + height * len(shown_rows) + 10
    width = max(width, 8 * min(len(str(tensor)), 100))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" '
           f'font-family="monospace" font-size="12">',
           f'<text x="4" y="16">{escape(str(tensor)[:100])}</text>']

    def text(x: float, y: float, words: str) -> None:
        out.append(f'<text x="{x:g}" y="{y:g}" text-anchor="middle">{escape(words)}</text>')

    for i, column in enumerate(shown_columns):
        text(left + _CELL * (i + 0.5), top - 8, "..." if column is None else str(column))
    for j, row in enumerate(shown_rows):
        y = top + height * j
        text(left / 2, y + height / 2 + 4, "..." if row is None else str(row))
        for i, column in enumerate(shown_columns):
            x = left + _CELL * i
            if row is None or column is None:
                text(x + _CELL / 2, y + height / 2 + 4, "...")
                continue
            place = (row, column) if len(tensor.mesh) == 2 else (column,)
            out.append(f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{height - 2}" rx="3" '
                       f'fill="{colours.get(place, _COLOURS[0])}" stroke="#6b7280"/>')
            lines = cells[row, column]
            for k, line in enumerate(lines):
                text(x + _CELL / 2, y + height / 2 + 4 + _LINE * (k - (len(lines) - 1) / 2), line)
    out.append("</svg>")
    return "\n".join(out)
