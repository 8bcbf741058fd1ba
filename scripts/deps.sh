#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages of some lists ("package  # purpose"); silent if none is missing.
# Where it has no permission or fails, it prints the command that would install them, and fails.
# usage: deps.sh LIST..
set -euo pipefail

if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian system: the packages named in $* must be there already" >&2
  exit 0
fi

mapfile -t wanted < <(sed -E 's/#.*//; s/[[:space:]]+//g; /^$/d' "$@" | sort -u)
# dpkg-query fails for an unknown name: that package is missing, like those it reports in a state
# other than installed.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
refuse() {
  printf '%s: %s. As root:\n\n  %s\n\n' "$0" "$1" "${install[*]}" >&2
  exit 1
}

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null ||
    refuse "${#missing[@]} packages are missing, and there is no sudo to install them"
  as_root=(sudo)
fi

echo "installing ${#missing[@]} missing packages:"
for package in "${missing[@]}"; do
  grep -hE -m 1 "^${package//+/\\+}([[:space:]]|\$)" "$@" | sed -n '1s/^/  /p'
done
# The existing package lists may be sufficient when they cannot be updated.
"${as_root[@]}" apt-get update -q || echo "the lists of packages could not be updated" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" -q ||
  refuse "${#missing[@]} packages are missing, and could not be installed"
