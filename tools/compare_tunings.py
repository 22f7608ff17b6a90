#!/usr/bin/env python3
"""Whether two tunings of one device agree: python3 tools/compare_tunings.py tune.json tune.again.json

Two results of `lanewise tune --json`. An entry agrees where both chose the same tile, and is close where what the other
one chose took, in this one's rounds, at most 3 % more time than its own choice (what was left out early by one of them
wasn't measured enough to tell, and counts as apart). Prints a line for each entry that isn't the same, and ends with 1
where fewer than 95 % agree or are close.
"""

import json
import sys

CLOSE = 1.03
LEAST = 0.95


def entries(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if document.get("kind") != "tune":
        sys.exit(f"{path}: not written by lanewise tune --json")
    keys = ("format", "cols", "rows", "tokens", "activation", "layout", "threads")
    return document["fingerprint"], {tuple(entry[key] for key in keys): entry for entry in document["entries"]}


def ratio_of(entry, tile):
    """Time of that tile to the default's in the entry's own rounds; None where they don't tell."""
    if tile == entry["default"]["tile"]:
        return 1.0
    return next((each["ratio"] for each in entry["candidates"] if each["tile"] == tile), None)


def is_close(entry, tile):
    theirs = ratio_of(entry, tile)
    return theirs is not None and theirs <= CLOSE * ratio_of(entry, entry["chosen"]["tile"])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    (first_print, first), (second_print, second) = entries(sys.argv[1]), entries(sys.argv[2])
    if first_print != second_print:
        sys.exit(f"of different devices or builds: {first_print}, {second_print}")
    common = sorted(first.keys() & second.keys())
    if not common:
        sys.exit("no entry is in both")
    same = close = 0
    for key in common:
        a, b = first[key], second[key]
        tiles = a["chosen"]["tile"], b["chosen"]["tile"]
        if tiles[0] == tiles[1]:
            same += 1
            continue
        near = is_close(a, tiles[1]) or is_close(b, tiles[0])
        close += near
        name = f"{key[0]} {key[1]}x{key[2]} tokens {key[3]}"
        print(f"{name}: {tiles[0]} ({a['ratio']:.3f}), {tiles[1]} ({b['ratio']:.3f}): {'close' if near else 'APART'}")
    part = (same + close) / len(common)
    alone = len(first.keys() ^ second.keys())
    print(f"{len(common)} entries in both, {alone} in one alone: {same} the same, {close} within 3 %, "
          f"{len(common) - same - close} apart ({100 * part:.1f} % agree)")
    return 0 if part >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
