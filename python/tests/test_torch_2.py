# SPDX-License-Identifier: Apache-2.0
"""The cases of record_torch.py under pytest. Left out where torch is older than 2.5: Debian 12 has 1.13."""

import pytest

torch = pytest.importorskip("torch", minversion="2.5")
import record_torch  # noqa: E402


@pytest.mark.parametrize("name", record_torch.cases())
def test_torch_2(name):
    record_torch.cases()[name]()
