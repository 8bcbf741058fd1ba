#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown tables from the JSON of `tessera bench relayout`, `mpi` or `ranks`, for
docs/performance.md, and of `tessera bench plan`, for docs/planning.md.

    build/tessera bench relayout --json > run1.json
    scripts/bench_table.py run1.json [run2.json ..]

All runs are of one suite. Runs of `mpi` with several numbers of ranks, and runs of `ranks` and `plan`, are
printed one after the other. With several runs of `relayout` each row is that of the best run, by share of memcpy,
and the peers' times are those of the same run. Shares are per cent, for f32 / two bytes / one byte; a row without a type has f32 only.
Misses of a goal are marked with `*`, rows slower than the best peer with `<`.
"""
import json
import math
import sys

MISS = "\\*"
TYPES = ["f32", "bf16", "i8"]


def kind_of(case):
    """The case's name without its extents, which differ by type; cases with few channels are separate kinds."""
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


def mpi_table(run):
    """One row per case, f64 / f32; `*` misses its goal."""
    print(f"\n{run['ranks']} ranks, [{run['extent']}, {run['extent']}]:\n")
    print("| case | crosses | plan | over the floor | from shared memory, over the floor "
          "| share of memcpy | ScaLAPACK takes |")
    print("|---" * 7 + "|")
    rows = {}
    for case in run["cases"]:
        rows.setdefault((case["name"], case["threads"]), []).append(case)
    for (name, threads), cases in rows.items():
        def numbers(key, form, scale=1.0, mark=""):
            return " / ".join((form % (scale * case[key]) if key in case else "-") +
                              ("" if case["met"] else mark) for case in cases)
        label = name if threads == 1 else f"{name}, {threads} threads a rank"
        crossing = 100 * cases[0]["crossing_bytes"] / cases[0]["bytes"]
        print(f"| {label} | {crossing:.0f} % "
              f"| {numbers('plan_seconds', '%.1f', 1e3)} ms "
              f"| {numbers('over_floor', '%.2f', mark=MISS)} "
              f"| {numbers('shared_over_floor', '%.2f')} "
              f"| {numbers('share_of_memcpy', '%.0f', 100)} % "
              f"| {numbers('scalapack_over_ours', '%.1f')} times as long |")
    means = ", ".join(f"{name} {value:.2f}" for name, value in run["geometric_means"].items())
    print(f"\nGeometric means: {means}.")


def ranks_table(run):
    """One row per reshard, one column per number of ranks."""
    counts = sorted({case["ranks"] for case in run["cases"]})
    print("\n| reshard |" + "".join(f" {count} |" for count in counts) +
          " partners | memory | grows as |")
    print("|---" * (len(counts) + 4) + "|")
    for name in dict.fromkeys(case["name"] for case in run["cases"]):
        cases = {case["ranks"]: case for case in run["cases"] if case["name"] == name}
        last = cases[max(cases)]
        growth = run["growth_exponents"].get(name)
        cells = "".join(f" {1e3 * cases[c]['seconds']:.2f} ({1e3 * cases[c]['largest_seconds']:.2f}) |"
                        if c in cases else " - |" for c in counts)
        exponent = "-" if growth is None else f"ranks^{growth['seconds']:.2f}"
        print(f"| {name} |{cells} {last['partners']} | {last['plan_bytes'] / 1e6:.2f} MB "
              f"| {exponent} |")


def plan_table(run):
    """Models by target with what their plans take, then the cases of which the time grows."""
    def cycles(case, key):
        return f"{case[key]:,.0f}" if key in case else "?"
    models = [case for case in run["cases"] if case["name"].startswith("model/")]
    if models:
        print("\n| model | target | cycles | gap | greedy forward | each op alone | max grid | moves priced "
              "| planned in |")
        print("|---" * 9 + "|")
    for case in models:
        _, model, target = case["name"].split("/")
        if case["outcome"] != "planned":
            print(f"| {model} | {target} | {case['outcome']} |" + " |" * 6)
            continue
        mark = "" if case.get("met", True) else MISS
        print(f"| {model} | {target} | {cycles(case, 'cycles')} | {100 * case['gap']:.3f} % "
              f"| {cycles(case, 'greedy_forward')} | {cycles(case, 'each_op_alone')} "
              f"| {cycles(case, 'max_grid')} | {case['moves_priced']:,} | {case['seconds']:.2f} s{mark} |")
    others = [case for case in run["cases"] if case not in models]
    if others:
        print("\n| case | planned in | gap | moves priced |")
        print("|---" * 4 + "|")
    for case in others:
        if case["outcome"] != "planned":
            print(f"| {case['name']} | {case['outcome']} | | |")
            continue
        print(f"| {case['name']} | {case['seconds']:.2f} s | {100 * case['gap']:.3f} % "
              f"| {case['moves_priced']:,} |")


def main():
    runs = []
    for path in sys.argv[1:]:
        with open(path) as file:
            runs.append(json.load(file))
    tables = {"mpi": mpi_table, "ranks": ranks_table, "plan": plan_table}
    if runs and runs[0]["suite"] in tables:
        for run in runs:
            tables[run["suite"]](run)
    else:
        relayout_tables()


def relayout_tables():
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
