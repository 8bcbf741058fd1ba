# SPDX-License-Identifier: Apache-2.0
"""Builds the compiled module with CMake, beside the library, for the wheel. Nothing is downloaded.

TESSERA_BUILD    the build tree to use; default build/release
TESSERA_JOBS     the number of jobs; default one per processor
TESSERA_NATIVE   a folder with a module that is built already: then CMake does not run
TESSERA_SCRATCH  where setuptools keeps its files; default build/wheel
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = Path(os.environ.get("TESSERA_SCRATCH", ROOT / "build" / "wheel")).resolve()


def built():
    """The folder of the module, after it has been built."""
    if "TESSERA_NATIVE" in os.environ:
        return Path(os.environ["TESSERA_NATIVE"])
    build = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release")).resolve()
    configure = ["cmake", "-S", str(ROOT), "-B", str(build), "-DTESSERA_PYTHON=ON",
                 f"-DPython_EXECUTABLE={sys.executable}"]
    if not (build / "CMakeCache.txt").exists():
        configure += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(configure, check=True)
    jobs = os.environ.get("TESSERA_JOBS", str(os.cpu_count() or 1))
    subprocess.run(["cmake", "--build", str(build), "--target", "tessera_python", "-j", jobs], check=True)
    return build / "python" / "tessera"


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = built()
        shutil.copy2(folder / target.name, target)
        for library in folder.glob("libhwy*"):
            shutil.copy2(library, target.parent)
        for module in folder.glob("modules/*.so"):
            (target.parent / "modules").mkdir(exist_ok=True)
            shutil.copy2(module, target.parent / "modules")


SCRATCH.mkdir(parents=True, exist_ok=True)
setup(ext_modules=[Extension("tessera._native", sources=[])], cmdclass={"build_ext": CMakeBuild},
      options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)}})
