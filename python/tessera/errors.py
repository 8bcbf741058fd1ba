# SPDX-License-Identifier: Apache-2.0
"""What is raised when something is wrong.

>>> try:
...     tessera.parse("tensor<53x63xf32, pyflame.Gird(3, 2)>")
... except tessera.TesseraError as error:
...     print(error.code, error.span, error.source[slice(*error.span)])
unknown_name (26, 30) Gird
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

__all__ = ["TesseraError", "TesseraIndexError", "TesseraMemoryError"]


class TesseraError(ValueError):
    """An error with a stable code. str() shows the offending text with a caret below it.

    code        a stable name; docs/errors.md has all of them, tessera.error_codes too
    message     one sentence with the offending number
    span        (from, to): bytes of `source` that it is about, or None
    source      the text that was read; '' where there was none
    help        what would be right
    correction  the right text in place of the span, if exactly one text is right
    reasons     what the sentence claims, for programs: dicts with 'name' and the numbers
    """

    code: str
    message: str
    span: Optional[Tuple[int, int]]
    help: str
    correction: str
    reasons: list[dict[str, Any]]
    source: str

    def __init__(self, message: str, *, code: str = "not_supported", span: Optional[Tuple[int, int]] = None,
                 help: str = "", correction: str = "", reasons: Optional[list[dict[str, Any]]] = None,
                 source: str = "", rendered: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.help = help
        self.correction = correction
        self.reasons = reasons or []
        self.source = source
        self._rendered = rendered.rstrip("\n")

    def __str__(self) -> str:
        return self._rendered or f"error[{self.code}]: {self.message}"

    def __reduce__(self) -> Any:
        return (_make_of, (type(self), self.code, self.message, self.span, self.help, self.correction, self.reasons,
                           self.source, self._rendered))


class TesseraIndexError(TesseraError, IndexError):
    """An index, place, slot or dim outside the layout; also an IndexError."""


class TesseraMemoryError(TesseraError, MemoryError):
    """The host has no memory left; also a MemoryError."""


_CLASSES = {"out_of_range": TesseraIndexError, "out_of_memory": TesseraMemoryError}


def _make_of(kind: type[TesseraError], code: str, message: str, span: Optional[Tuple[int, int]], help: str,
             correction: str, reasons: list[dict[str, Any]], source: str, rendered: str) -> TesseraError:
    return kind(message, code=code, span=span, help=help, correction=correction, reasons=reasons, source=source,
                rendered=rendered)


def _make(code: str, message: str, span: Optional[Tuple[int, int]], help: str, correction: str,
          reasons: list[dict[str, Any]], source: str, rendered: str) -> TesseraError:
    """Called by the compiled module."""
    return _make_of(_CLASSES.get(code, TesseraError), code, message, span, help, correction, reasons, source, rendered)


def _from_json(answer: dict[str, Any], source: str = "") -> TesseraError:
    """The error in an answer of the command."""
    error = answer["error"]
    span = (error["span"][0], error["span"][1]) if error.get("span") else None
    lines = [f"error[{error['code']}]: {error['message']}"]
    if error.get("help"):
        lines.append(f"help: {error['help']}")
    return _make(error["code"], error["message"], span, error.get("help", ""), error.get("correction", ""),
                 error.get("reasons", []), source, "\n".join(lines))
