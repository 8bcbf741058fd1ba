# SPDX-License-Identifier: Apache-2.0
"""PyTorch: layouts of its tensors and back, and its modules as graphs. Import it by name: `import tessera.torch`; it
needs torch.

>>> import tessera.torch, torch
>>> tessera.torch.layout_of(torch.zeros(4, 6).t())
tessera.parse('tensor<6x4xf32, strided<[1, 6]>>')
>>> tessera.torch.graph_of(torch.nn.Linear(8, 4), torch.zeros(2, 8))
<graph of 1 nodes: input f32[2, 8] -> addmm f32[2, 4]>
"""

from .layouts import empty, layout_of, relayout
from .tracing import graph_of
from .types import DTYPES, TORCH_DTYPES, dtype_of, torch_dtype

__all__ = ["DTYPES", "TORCH_DTYPES", "dtype_of", "empty", "graph_of", "layout_of", "relayout", "torch_dtype"]
