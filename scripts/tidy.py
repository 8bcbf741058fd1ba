#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over source files, several per run.

clang-tidy spends most of its time on the standard library, again for every file. Files of one folder
that are compiled with the same options are therefore analysed as one: through a file that includes
them. Files that do not compile together (two helpers of one name, say) go to different runs. Files
without findings that have not changed since are left out (seen.py).

usage: tidy.py BUILD JOBS FILE..    BUILD has compile_commands.json; exits 1 if there are findings
"""

import concurrent.futures
import itertools
import json
import os
import shlex
import subprocess
import sys

from seen import Seen

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIDY = "clang-tidy-19"
COMPILER = "clang++-19"
FILES_PER_RUN = 12
# Findings are reported in our headers and, since they are included, in our sources.
OURS = r"/(tessera|tools|fuzz|examples|bench|python)/[^:]*\.(h|cc)$"


def options(entry):
    """The options of a compilation, without compiler, cache, input and output."""
    words = shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    kept = []
    skip = False
    for word in words[first:]:
        if skip or word in ("-c", entry["file"]):
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word != "-MD":
            kept.append(word)
    return entry["directory"], tuple(kept)


class Analysis:
    def __init__(self, build):
        self.folder = os.path.join(build, "tidy")
        self.numbers = itertools.count()
        os.makedirs(self.folder, exist_ok=True)

    def joined(self, files):
        """A file that includes others."""
        source = os.path.join(self.folder, f"{next(self.numbers)}.cc")
        with open(source, "w", encoding="utf-8") as out:
            out.writelines(f'#include "{file}"  // NOLINT\n' for file in files)
        return source

    def parts(self, files, directory, flags):
        """Files that compile together: those in which there are errors are left to the next part."""
        while len(files) > 1:
            command = [COMPILER, *flags, "-w", "-fsyntax-only", "-ferror-limit=0", self.joined(files)]
            done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
            errors = [line.split(":", 1)[0] for line in done.stderr.splitlines() if " error: " in line]
            wrong = {os.path.normpath(os.path.join(directory, file)) for file in errors} & set(files)
            if errors and not 0 < len(wrong) < len(files):
                yield from ([file] for file in files)
                return
            yield [file for file in files if file not in wrong]
            files = [file for file in files if file in wrong]
        if files:
            yield files

    def report(self, source, directory, flags):
        """What clang-tidy finds; empty if nothing."""
        return self.printed([source, "--", *flags], directory)

    def printed(self, arguments, directory):
        command = [TIDY, "--quiet", "--header-filter=" + OURS, *arguments]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode or done.stdout.strip() else ""

    def findings(self, files, directory, flags):
        if flags is None:
            return self.printed(["-p", directory, *files], directory)
        reports = []
        for part in self.parts(files, directory, flags):
            # A name of one file may be that of a parameter in the next; every build has -Wshadow.
            report = (self.report(part[0], directory, flags) if len(part) == 1 else
                      self.report(self.joined(part), directory, (*flags, "-Wno-shadow")))
            if len(part) > 1 and "[clang-diagnostic-error" in report:
                report = "".join(self.report(file, directory, flags) for file in part)
            reports.append(report)
        return "".join(reports)


def main(build, jobs, *names):
    build = os.path.abspath(build)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        entries = {entry["file"]: entry for entry in json.load(text)}
    seen = Seen(os.path.join(build, "tidied"), ROOT, __file__, os.path.join(ROOT, ".clang-tidy"), TIDY)
    groups = {}
    for file in sorted(map(os.path.abspath, names)):
        if file in entries:
            key = (os.path.dirname(file), file.endswith("_test.cc"), options(entries[file]))
        else:  # alone, with the options of the file that clang-tidy considers nearest
            key = (file, False, (build, None))
        if seen.clean(file, key[2]):
            continue
        groups.setdefault(key, []).append(file)
    runs = [(files[i:i + FILES_PER_RUN], *key[2])
            for key, files in groups.items() for i in range(0, len(files), FILES_PER_RUN)]
    analysis = Analysis(build)
    found = False
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        waiting = {pool.submit(analysis.findings, *run): run for run in runs}
        for future in concurrent.futures.as_completed(waiting):
            report = future.result()
            files, *compiled = waiting[future]
            if report:
                found = True
                print(report, flush=True)
            else:
                for file in files:
                    seen.record(file, tuple(compiled))
    analysed = sum(len(files) for files, *_ in runs)
    print(f"clang-tidy: {analysed} files in {len(runs)} runs, {'findings above' if found else 'no findings'}; "
          f"{len(names) - analysed} are as before")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
