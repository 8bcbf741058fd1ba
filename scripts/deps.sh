#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of a list ("package  # what for") that are missing; silent if none is.
set -euo pipefail
list=$1

if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian system: the packages named in $list must be there already" >&2
  exit 0
fi

mapfile -t wanted < <(sed -E 's/#.*//; s/[[:space:]]+//g; /^$/d' "$list")
# dpkg-query fails when it knows nothing of a name: that package is missing, like those it reports
# in another state than installed.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "installing ${#missing[@]} missing packages:"
for package in "${missing[@]}"; do
  grep -E "^${package//+/\\+}([[:space:]]|\$)" "$list" | sed 's/^/  /'
done
as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}"
