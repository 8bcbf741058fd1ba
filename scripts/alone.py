#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every source file alone, without writing objects: a file includes what it uses, and has no warning.

Builds join the files of a folder (cmake/joined.cmake) and precompile headers, and both hide a missing #include.

usage: alone.py BUILD JOBS    BUILD was configured without joined files and precompiled headers; exits 1 if a file fails
"""

import concurrent.futures
import json
import os
import subprocess
import sys

from tidy import options

COMPILER = "clang++-19"


def report(entry):
    """What the compiler prints; empty if nothing."""
    directory, flags = options(entry)
    command = [COMPILER, *flags, "-fsyntax-only", entry["file"]]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main(build, jobs):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        entries = json.load(text)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for printed in pool.map(report, entries):
            if printed:
                failed += 1
                print(printed, flush=True)
    print(f"compiled alone: {len(entries)} files, {failed} of them fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
