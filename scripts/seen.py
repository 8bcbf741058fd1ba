# SPDX-License-Identifier: Apache-2.0
"""Remembers which files a check found clean, so that the next run looks at what has changed since.

A file is the same as before if its text, the text of all that it includes from this project, the options and the
check itself are the same. Headers of the system are not looked at: after an upgrade of packages, remove the folder.
"""

import functools
import hashlib
import os
import re

INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Seen:
    """law: a file is clean here only if record() was called for it with the same texts and options."""

    def __init__(self, folder, root, *check):
        """`check`: files and words that decide what is found: the script, its configuration, the tool."""
        self.folder, self.root = folder, root
        os.makedirs(folder, exist_ok=True)
        self.check = hashlib.sha256()
        for word in check:
            self.check.update(open(word, "rb").read() if os.path.exists(word) else word.encode())

    @functools.cache
    def own(self, file):
        """The digest of one text, and what it includes from the project."""
        with open(file, "rb") as text:
            content = text.read()
        included = []
        for name in INCLUDE.findall(content):
            for base in (self.root, os.path.dirname(file)):
                path = os.path.normpath(os.path.join(base, name.decode()))
                if os.path.isfile(path):
                    included.append(path)
                    break
        return hashlib.sha256(content).digest(), tuple(included)

    def stamp(self, file, flags):
        found, open_files = {file}, [file]
        while open_files:
            for path in self.own(open_files.pop())[1]:
                if path not in found:
                    found.add(path)
                    open_files.append(path)
        digest = self.check.copy()
        digest.update(repr((file, flags)).encode())
        for path in sorted(found):
            digest.update(path.encode() + self.own(path)[0])
        return os.path.join(self.folder, digest.hexdigest())

    def clean(self, file, flags):
        return os.path.exists(self.stamp(file, flags))

    def record(self, file, flags):
        open(self.stamp(file, flags), "w", encoding="utf-8").close()
