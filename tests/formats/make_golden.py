#!/usr/bin/env python3
"""Freezes a few blocks of every format and their values as other implementations decode them.

    python make_golden.py [--ggml-quants LIBRARY --ggml-version TEXT]

Writes golden/<format>.txt: a first line that names the decoders and their versions, then a line a block: its bytes and
its values (bits of fp32, any NaN as 7fc00000), both in hexadecimal. Every decoder that knows the format must give the
same bits, or nothing is written. Q2_0 is decoded by no Python package: its file is made from ggml itself, by a shared
library built from ggml's ggml-quants.c (cc -O2 -shared -fPIC -Iinclude -Isrc src/ggml-quants.c
-Wl,--unresolved-symbols=ignore-all -lm); without one the file there is kept, and a line says so.
"""

import argparse
import ctypes
import sys

import numpy as np

import packages

FOLDER = packages.ROOT / "tests" / "formats" / "golden"
# Edge scales of a block of 256 elements, where a block for each of packages.SPECIAL_HALVES would be much text: d and m.
PAIRS = [(0x0001, 0x8000), (0x7C00, 0x0400), (0x7E00, 0x3C00), (0x8000, 0x83FF), (0xFC00, 0x7C00)]


def blocks_of(name, elements, size, rng):
    if elements == 1:
        special = {"f32": [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
                           0x7F800001, 0xFFC12345], "f16": packages.SPECIAL_HALVES,
                   "bf16": [0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0xFFC1]}[name]
        fixed = np.array(special, dtype=np.uint32 if size == 4 else np.uint16).view(np.uint8).reshape(-1, size)
        return np.concatenate([fixed, rng.integers(0, 256, (22, size), dtype=np.uint8)])
    places = packages.SCALES[name]
    if places[0][1] == "b":
        values = [tuple(packages.SPECIAL_BYTES[(i + 5 * j) % 16] for j in range(len(places))) for i in range(16)]
    elif elements == 256:
        values = PAIRS
    else:
        values = [(half, packages.SPECIAL_HALVES[(i * 7 + 3) % 16]) for i, half in enumerate(packages.SPECIAL_HALVES)]
    blocks = rng.integers(0, 256, (2 + len(values), size), dtype=np.uint8)
    for block in blocks[:2]:  # scales of ordinary size
        for place in places:
            packages.set_scale(block, place, 0x3A if place[1] == "b" else 0x2000 + int(rng.integers(0x1000)))
    for block, scales in zip(blocks[2:], values):
        for place, scale in zip(places, scales):
            packages.set_scale(block, place, scale)
    return blocks


def by_ggml(library, name, blocks, elements):
    values = np.empty(len(blocks) * elements, np.float32)
    getattr(ctypes.CDLL(library, mode=1), "dequantize_row_" + name)(
        blocks.ctypes.data_as(ctypes.c_void_p), values.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(values.size))
    return packages.canonical(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ggml-quants")
    parser.add_argument("--ggml-version", help="what to call that library in the file")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name, _, elements, size in packages.formats():
        blocks = blocks_of(name, elements, size, np.random.default_rng([2, sum(name.encode())]))
        decoded = {judge: decode(name, blocks) for judge, decode in packages.JUDGES.items()}
        if name == "q2_0":
            if not options.ggml_quants:
                print("q2_0: no --ggml-quants, the file there is kept", file=sys.stderr)
                continue
            decoded["ggml " + options.ggml_version] = by_ggml(options.ggml_quants, name, blocks, elements)
        decoded = {judge: bits for judge, bits in decoded.items() if bits is not None}
        first = next(iter(decoded.values()))
        for judge, bits in decoded.items():
            if not np.array_equal(first, bits):
                sys.exit(f"{name}: {judge} and {next(iter(decoded))} differ")
        rows = first.reshape(len(blocks), elements)
        with open(FOLDER / f"{name}.txt", "w") as out:
            out.write(f"{name}, decoded alike by {', '.join(decoded)}\n")
            for block, row in zip(blocks, rows):
                out.write(block.tobytes().hex() + " " + "".join(f"{value:08x}" for value in row) + "\n")


if __name__ == "__main__":
    main()
