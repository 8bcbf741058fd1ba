# SPDX-License-Identifier: Apache-2.0
"""Machines by name, each read once."""

from __future__ import annotations

import functools
from pathlib import Path

from tessera import _native


@functools.lru_cache(maxsize=32)
def machine(target: str) -> _native.Machine:
    """A machine of tessera.targets(), or one described by a JSON file."""
    return _native.Machine(Path(target).read_text(encoding="utf-8") if target.endswith(".json") else target)
