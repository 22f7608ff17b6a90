#!/usr/bin/env python3
"""Compares the library's decoders, bit for bit, with other implementations on random blocks.

    python check_packages.py PATH/TO/dequant_dump [--blocks N] [--seed S] [--format NAME]

Exit code 0: every format agrees with every judge that decodes it, and each has at least one. The IQ grids' hashes are
worked out from the package once more and compared with those printed into src/formats/tables.
"""

import argparse
import re
import subprocess
import sys

import numpy as np

import packages

sys.path.insert(0, str(packages.ROOT / "tools" / "tables"))
import make_grids  # noqa: E402


def ours(dump, name, blocks):
    done = subprocess.run([dump, name], input=blocks.tobytes(), stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, dtype=np.uint32)


def first_difference(name, elements, blocks, mine, theirs):
    if mine.shape != theirs.shape:
        return f"{mine.size} values against {theirs.size}"
    where = np.flatnonzero(mine != theirs)
    if where.size == 0:
        return None
    at = int(where[0])
    block = at // elements
    return (f"{where.size} of {mine.size} values differ, first in block {block} element {at % elements}: "
            f"0x{mine[at]:08X} against 0x{theirs[at]:08X}; block {blocks[block].tobytes().hex()}")


def check_format(dump, name, elements, size, count, seed):
    """Problems found, and a line that says what was compared."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    count = count if elements > 1 else count * 256
    blocks = packages.blocks_of(name, size, count, rng)
    mine = ours(dump, name, blocks)
    problems, judges = [], []
    for judge, decode in packages.JUDGES.items():
        theirs = decode(name, blocks)
        if theirs is None:
            continue
        judges.append(judge)
        difference = first_difference(name, elements, blocks, mine, theirs)
        if difference:
            problems.append(f"{name} against {judge}: {difference}")
    if not judges:
        problems.append(f"{name}: nothing to compare with")
    return problems, f"{name}: {mine.size} values against {', '.join(judges)}"


def check_grids():
    problems = []
    for name, cls, _ in make_grids.GRIDS:
        text = (make_grids.FOLDER / f"{name}_grid.h").read_text()
        high, low = re.findall(r"GRID_HASH_(?:HIGH|LOW) 0x([0-9A-F]{8})u", text)
        expected = make_grids.fnv1a(make_grids.grid_of(cls).tobytes())
        if int(high + low, 16) != expected:
            problems.append(f"grid {name}: hash {high}{low} in the table, 0x{expected:016X} from the package")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump")
    parser.add_argument("--blocks", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format")
    options = parser.parse_args()
    problems = check_grids()
    for name, _, elements, size in packages.formats():
        if options.format in (None, name):
            found, line = check_format(options.dump, name, elements, size, options.blocks, options.seed)
            print(line if not found else found[0], flush=True)
            problems += found
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
