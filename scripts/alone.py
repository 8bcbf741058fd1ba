#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every source file alone, without writing objects: a file includes what it uses, and has no warning.

Builds join the files of a folder (cmake/joined.cmake) and precompile headers, and both hide a missing #include.

Files that compiled before and have not changed since are left out (seen.py).

usage: alone.py BUILD JOBS    BUILD was configured without joined files and precompiled headers; exits 1 if a file fails
"""

import concurrent.futures
import json
import os
import subprocess
import sys

from seen import Seen
from tidy import ROOT, options

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
    seen = Seen(os.path.join(build, "alone"), ROOT, __file__, COMPILER)
    changed = [entry for entry in entries if not seen.clean(entry["file"], options(entry))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for entry, printed in zip(changed, pool.map(report, changed)):
            if printed:
                failed += 1
                print(printed, flush=True)
            else:
                seen.record(entry["file"], options(entry))
    print(f"compiled alone: {len(changed)} files, {failed} of them fail; {len(entries) - len(changed)} are as before")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
