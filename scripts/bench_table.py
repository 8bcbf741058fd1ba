#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown tables from the JSON of `tessera bench relayout`, for docs/performance.md.

    build/tessera bench relayout --json > run1.json
    scripts/bench_table.py run1.json [run2.json ..]

With several runs each row is its best one, by share of memcpy, and the peers' times are those of
that run. Shares are per cent, for f32 / two bytes / one byte; a row without a type has f32 only.
Misses of a goal are marked with `*`, rows slower than the best peer with `<`.
"""
import json
import math
import sys

TYPES = ["f32", "bf16", "i8"]


def kind_of(case):
    """The case's name without its extents, which differ by type; few channels are kinds of their own."""
    kind, extents = case["name"].split("/")
    if case["group"] == "3_channels":
        kind += ", 3 channels"
    return kind, extents


def best_peer(case):
    peers = case["peers"]
    return case["memcpy_seconds"] / min(peers.values()) if peers else None


def cell(case):
    mark = "" if case.get("met", True) else "\\*"
    mark += "" if case.get("keeps_up_with_peers", True) else "<"
    return f"{100 * case['share_of_memcpy']:.0f}{mark}"


def joined(cases, text):
    return " / ".join("-" if case is None else text(case) for case in cases)


def peer_text(case):
    peer = best_peer(case)
    return "-" if peer is None else f"{100 * peer:.0f}"


def goal_text(case):
    return f"{100 * case['goal']:.0f}" if "goal" in case else "-"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    best = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            for case in json.load(file)["cases"]:
                key = (case["size"], kind_of(case)[0], case["dtype"], case["threads"])
                if key not in best or case["share_of_memcpy"] > best[key]["share_of_memcpy"]:
                    best[key] = case
    for size in dict.fromkeys(key[0] for key in best):
        threads = sorted({key[3] for key in best if key[0] == size})
        print(f"\n{size}:\n\n| case | goal |", end="")
        print("".join(f" {t} thread{'s' if t > 1 else ''} | best peer |" for t in threads))
        print("|---" * (2 + 2 * len(threads)) + "|")
        for kind in dict.fromkeys(key[1] for key in best if key[0] == size):
            rows = {t: [best.get((size, kind, dtype, t)) for dtype in TYPES] for t in threads}
            if all(row[1:] == [None, None] for row in rows.values()):
                rows = {t: row[:1] for t, row in rows.items()}
            print(f"| {kind} | {joined(rows[threads[0]], goal_text)} |", end="")
            print("".join(f" {joined(row, cell)} | {joined(row, peer_text)} |"
                          for row in rows.values()))
        print()
        for t in threads:
            shares = [case["share_of_memcpy"] for key, case in best.items()
                      if key[0] == size and key[3] == t]
            peers = [(best_peer(case), case["share_of_memcpy"]) for key, case in best.items()
                     if key[0] == size and key[3] == t and case["peers"]]
            mean = lambda values: 100 * math.exp(sum(map(math.log, values)) / len(values))
            line = f"Geometric mean, {t} thread{'s' if t > 1 else ''}: {mean(shares):.0f} %"
            if peers:
                line += (f"; where there are peers {mean([s for _, s in peers]):.0f} % against "
                         f"{mean([p for p, _ in peers]):.0f} % of the best of them")
            print(line + ".")


if __name__ == "__main__":
    main()
