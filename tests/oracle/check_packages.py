#!/usr/bin/env python3
"""Compares the oracle's decoding with the PyPI packages gguf and libgguf, bit for bit.

usage: check_packages.py ORACLE_DUMP [--elements N] [--seed N]

Blocks are random bytes; in one block of four the scale fields are replaced by special fp16 numbers (zeros,
subnormals, infinities, NaNs, the largest), so that they meet random codes. Any NaN equals any NaN. Prints a
line a format and exits with 1 on any difference, or when a format was checked by no package but should be.
"""

import argparse
import subprocess
import sys

import gguf
import libgguf
import numpy as np

# name: (ggml id, elements and bytes a block, byte offsets of the fp16 fields)
FORMATS = {
    "F32": (0, 1, 4, []),
    "F16": (1, 1, 2, []),
    "Q4_0": (2, 32, 18, [0]),
    "Q4_1": (3, 32, 20, [0, 2]),
    "Q5_0": (6, 32, 22, [0]),
    "Q5_1": (7, 32, 24, [0, 2]),
    "Q8_0": (8, 32, 34, [0]),
    "Q2_K": (10, 256, 84, [80, 82]),
    "Q3_K": (11, 256, 110, [108]),
    "Q4_K": (12, 256, 144, [0, 2]),
    "Q5_K": (13, 256, 176, [0, 2]),
    "Q6_K": (14, 256, 210, [208]),
    "IQ2_XXS": (16, 256, 66, [0]),
    "IQ2_XS": (17, 256, 74, [0]),
    "IQ3_XXS": (18, 256, 98, [0]),
    "IQ1_S": (19, 256, 50, [0]),
    "IQ4_NL": (20, 32, 18, [0]),
    "IQ3_S": (21, 256, 110, [0]),
    "IQ2_S": (22, 256, 82, [0]),
    "IQ4_XS": (23, 256, 136, [0]),
    "IQ1_M": (29, 256, 56, "IQ1_M"),
    "BF16": (30, 1, 2, []),
    "TQ1_0": (34, 256, 54, [52]),
    "TQ2_0": (35, 256, 66, [64]),
    "MXFP4": (39, 32, 17, []),
    "NVFP4": (40, 64, 36, []),
    "Q1_0": (41, 128, 18, [0]),
    "Q2_0": (42, 64, 18, [0]),
}

SPECIAL_HALVES = np.array(
    [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00,
     0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0x7E00, 0xFE01, 0x7FFF],
    dtype=np.uint16,
)

# Formats that neither package decodes; here their own tests must do.
UNCHECKED = {"Q2_0"}


def random_blocks(rng, blocks, block_bytes, halves):
    raw = rng.integers(0, 256, size=(blocks, block_bytes), dtype=np.uint8)
    chosen = np.arange(0, blocks, 4)
    if halves == "IQ1_M":  # the scale's nibbles top four words, the lowest first
        values = rng.choice(SPECIAL_HALVES, size=len(chosen))
        for word in range(4):
            top = ((values >> (4 * word)) & 0xF).astype(np.uint8) << 4
            raw[chosen, 49 + 2 * word] = (raw[chosen, 49 + 2 * word] & 0x0F) | top
        return raw
    for offset in halves:
        values = rng.choice(SPECIAL_HALVES, size=len(chosen))
        raw[chosen, offset] = (values & 0xFF).astype(np.uint8)
        raw[chosen, offset + 1] = (values >> 8).astype(np.uint8)
    return raw


def by_gguf(name, raw):
    if name == "F32":
        return raw.copy().view(np.float32)
    if name == "F16":
        return raw.copy().view(np.float16).astype(np.float32)
    try:
        qtype = gguf.GGMLQuantizationType[name]
        with np.errstate(all="ignore"):
            return gguf.quants.dequantize(raw.reshape(1, -1), qtype)
    except (KeyError, NotImplementedError):
        return None


def by_libgguf(name, ggml_id, raw):
    if name in ("F32", "F16", "BF16"):
        return None
    try:
        return libgguf.dequantize_rows(raw.reshape(1, -1), ggml_id)
    except (ValueError, KeyError):
        return None


def differences(mine, theirs):
    a = mine.view(np.uint32)
    b = np.ascontiguousarray(theirs, dtype=np.float32).reshape(-1).view(np.uint32)
    if a.shape != b.shape:
        raise SystemExit(f"{a.shape} values against {b.shape}")
    return int(np.count_nonzero((a != b) & ~(np.isnan(a.view(np.float32)) & np.isnan(b.view(np.float32)))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("oracle_dump")
    parser.add_argument("--elements", type=int, default=262144, help="at least so many elements a format")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    listed = subprocess.run([args.oracle_dump], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    known = [f"{name} {ggml_id} {elements} {size}" for name, (ggml_id, elements, size, _) in FORMATS.items()]
    if listed[:-1] != known:
        raise SystemExit(f"the oracle and this script list other formats: {sorted(set(listed[:-1]) ^ set(known))}")

    rng = np.random.default_rng(args.seed)
    failed = False
    for name, (ggml_id, elements, block_bytes, halves) in FORMATS.items():
        blocks = -(-args.elements // elements)
        raw = random_blocks(rng, blocks, block_bytes, halves)
        done = subprocess.run([args.oracle_dump, str(ggml_id)], input=raw.tobytes(), stdout=subprocess.PIPE, check=True)
        mine = np.frombuffer(done.stdout, dtype=np.float32)
        nans = mine.view(np.uint32)[np.isnan(mine)]
        line = f"{name:8} {mine.size:8} values, {nans.size:6} NaN"
        if np.any(nans != 0x7FC00000):
            line += "; a NaN is not 0x7FC00000"
            failed = True
        packages = 0
        for package, theirs in (("gguf", by_gguf(name, raw)), ("libgguf", by_libgguf(name, ggml_id, raw))):
            if theirs is None:
                line += f"; {package} -"
                continue
            packages += 1
            count = differences(mine, theirs)
            failed = failed or count > 0
            line += f"; {package} {count} differ"
        if packages == 0 and name not in UNCHECKED:
            line += "; NOT CHECKED"
            failed = True
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
