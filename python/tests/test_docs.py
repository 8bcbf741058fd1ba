# SPDX-License-Identifier: Apache-2.0
"""Every example in docstrings of both packages, docs/python.md and docs/tutorials/ is run; every public name is explained
and typed."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyflame
import tessera
from tessera import _native

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(tessera.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def run(text, name):
    names = {"tessera": tessera, "np": np}
    if name.startswith("tessera.torch"):
        names["torch"] = importlib.import_module("torch")
    if name.startswith("pyflame"):
        names |= {"pf": pyflame, "Layout": pyflame.Layout, **{one: getattr(pyflame.layout, one) for one in
                                                            pyflame.layout.__all__}}
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
    return runner.tries


def documented():
    """(name, docstring) of everything in the packages and in their compiled module."""
    for info in [*pkgutil.walk_packages([str(PACKAGE)], "tessera."),
                 *pkgutil.walk_packages([str(Path(pyflame.__file__).parent)], "pyflame.")]:
        if info.name == "tessera.torch" and importlib.util.find_spec("torch") is None:
            continue
        module = importlib.import_module(info.name)
        yield info.name, module.__doc__
        for name, one in vars(module).items():
            if inspect.isfunction(one) or inspect.isclass(one):
                if one.__module__ != info.name and not one.__module__.endswith("_native"):
                    continue
                yield f"{info.name}.{name}", one.__doc__
                if inspect.isclass(one):
                    for part, value in vars(one).items():
                        yield f"{info.name}.{name}.{part}", getattr(value, "__doc__", None)
    yield "tessera", tessera.__doc__
    yield "pyflame", pyflame.__doc__


DOCUMENTED = {name: text for name, text in documented() if text and ">>>" in text}


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_docstrings(name):
    assert run(DOCUMENTED[name], name) > 0


def test_the_page():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) > 10 and all(">>>" in block for block in blocks)
    run("\n".join(blocks), "docs/python.md")


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=[page.name for page in TUTORIALS])
def test_tutorials(page):
    text = page.read_text()
    if "import torch" in text or "tessera.torch" in text:
        pytest.importorskip("torch")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > 5 and all(">>>" in block for block in blocks)
    run("\n".join(blocks), str(page))


def test_the_readme():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks and run("\n".join(blocks), "README.md") > 0


def test_public_names_are_explained():
    for name in tessera.__all__:
        one = getattr(tessera, name)
        if callable(one) or inspect.ismodule(one):
            assert one.__doc__, name
    assert tessera.__all__ == sorted(tessera.__all__)
    for name in pyflame.__all__:
        one = getattr(pyflame, name)
        assert one.__doc__ or isinstance(one, pyflame.DType), name
    assert pyflame.__all__ == sorted(pyflame.__all__)


def test_the_version_is_that_of_the_library():
    assert f'version = "{tessera.__version__}"' in (ROOT / "python" / "pyproject.toml").read_text()


def members(tree):
    """Names at the top of a stub, and the names in each of its classes."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} | {
                item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def test_stubs_have_every_name_of_the_module():
    stub = members(ast.parse((PACKAGE / "_native.pyi").read_text()))
    real = {name for name in vars(_native) if not name.startswith("_") or name == "__version__"}
    assert set(stub) == real
    for name, parts in stub.items():
        if parts is None:
            continue
        own = {part for part, value in vars(getattr(_native, name)).items()
               if not (part.startswith("__") and part.endswith("__")) and not part.startswith("_pybind")}
        assert own == {part for part in parts if not (part.startswith("__") and part.endswith("__"))}, name


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize("package", ["tessera", "pyflame"])
def test_types_are_consistent(package):
    settings = Path(__file__).resolve().parents[1] / "pyproject.toml"
    done = subprocess.run(["mypy", "--strict", "--config-file", settings, "--python-executable", sys.executable,
                           "--cache-dir", "/dev/null", "-p", package],
                          cwd=PACKAGE.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
