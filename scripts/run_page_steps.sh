#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the steps of a page of docs/ as a reader would: all its ```sh blocks, one after the other in one
# shell, in an empty folder, with the command first on the path. Its ```python blocks run between them
# if python3 has NumPy. If any step fails, the script fails.
#   run_page_steps.sh PAGE FOLDER_OF_THE_COMMAND
set -eu
page=$(realpath "$1")
PATH=$(realpath "$2"):$PATH
export PATH

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

has_numpy=no
if python3 -c 'import numpy' 2>/dev/null; then has_numpy=yes; fi

# One shell script; every python block is written to a file that also contains the blocks before it, so
# that its names are defined.
awk -v numpy=$has_numpy '
  /^```sh$/ { kind = "sh"; steps++; next }
  /^```python$/ { kind = "python"; next }
  /^```$/ {
    if (kind == "python" && numpy == "yes") {
      pythons++
      file = "step" pythons ".py"
      printf "%s", python > file
      close(file)
      print "python3 " file
    }
    kind = ""
    next
  }
  kind == "sh" { print }
  kind == "python" { python = python $0 "\n" }
  END { if (steps == 0) exit 1 }
' "$page" > steps.sh
sh -eux steps.sh
