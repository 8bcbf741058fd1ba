# SPDX-License-Identifier: Apache-2.0
"""Doctests of the packages and pages see tessera, pyflame and numpy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import pyflame
import tessera

# The same examples in every run, and no time limit on a busy machine.
settings.register_profile("tests", derandomize=True, deadline=None, max_examples=60,
                          suppress_health_check=list(HealthCheck), database=None)
settings.load_profile("tests")


@pytest.fixture(autouse=True)
def _names(doctest_namespace):
    doctest_namespace["tessera"] = tessera
    doctest_namespace["pf"] = pyflame
    doctest_namespace["np"] = np
