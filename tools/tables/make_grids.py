#!/usr/bin/env python3
"""Writes the code grids of the IQ formats as decode-file tables.

    python tools/tables/make_grids.py            writes src/formats/tables/*.h
    python tools/tables/make_grids.py --check    compares them with what it would write, exit code 1 on a difference

The values come from the PyPI package `gguf`, whose classes hold each grid packed. The hash printed into each table is
FNV-1a (64 bits) over the grid's values in their canonical form: one signed byte a value, entry by entry.
"""

import argparse
import importlib.metadata
import pathlib
import sys

import numpy as np
from gguf import quants

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src" / "formats" / "tables"

# Table name, class of gguf.quants, how an entry is laid out in words.
GRIDS = [
    ("iq2_xxs", quants.IQ2_XXS, "bytes"),
    ("iq2_xs", quants.IQ2_XS, "bytes"),
    ("iq2_s", quants.IQ2_S, "bytes"),
    ("iq3_xxs", quants.IQ3_XXS, "bytes"),
    ("iq3_s", quants.IQ3_S, "bytes"),
    ("iq1", quants.IQ1_S, "nibbles"),
]

LAYOUTS = {
    "bytes": "A value a byte, lowest byte first; an entry of eight takes two words.",
    "nibbles": "An entry a word: byte i holds value i + 1 in its low nibble, value 4 + i, plus 1, in its high nibble.",
}


def grid_of(cls):
    """The grid as int8[entries, values]."""
    cls.init_grid()
    grid = cls.grid.reshape(cls.grid_shape)
    assert (grid == grid.astype(np.int8)).all()
    return grid.astype(np.int8)


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def words_of(grid, layout):
    if layout == "bytes":
        return np.ascontiguousarray(grid).view("<u4").reshape(-1)
    digits = (grid + 1).astype(np.uint8)
    return np.ascontiguousarray(digits[:, :4] | (digits[:, 4:] << 4)).view("<u4").reshape(-1)


def text_of(name, cls, layout, version):
    grid = grid_of(cls)
    words = words_of(grid, layout)
    entries, values = grid.shape
    upper = name.upper()
    lines = [
        f"// Grid of {cls.__name__}{' and IQ1_M' if name == 'iq1' else ''}: {entries} entries of {values} values.",
        f"// {LAYOUTS[layout]}",
        f"// Source: PyPI package gguf {version} (gguf.quants.{cls.__name__}.grid_hex), MIT licence, the ggml authors; see NOTICE.",
        "// Made by tools/tables/make_grids.py; not to be edited by hand.",
        f"#ifndef LANEWISE_FORMATS_TABLES_{upper}_GRID_H",
        f"#define LANEWISE_FORMATS_TABLES_{upper}_GRID_H",
        "",
        f"#define LW_{upper}_GRID_ENTRIES {entries}",
        f"#define LW_{upper}_GRID_VALUES {values}",
        f"#define LW_{upper}_GRID_WORDS {len(words)}",
        "// FNV-1a, 64 bits, over the values as signed bytes, entry by entry; high and low half.",
        f"#define LW_{upper}_GRID_HASH_HIGH 0x{fnv1a(grid.tobytes()) >> 32:08X}u",
        f"#define LW_{upper}_GRID_HASH_LOW 0x{fnv1a(grid.tobytes()) & 0xFFFFFFFF:08X}u",
        "",
        "LW_DECODE_BEGIN",
        "// clang-format off",
        f"LW_TABLE_BEGIN(lw_{name}_grid, LW_{upper}_GRID_WORDS)",
    ]
    per_line = 8
    for start in range(0, len(words), per_line):
        row = ", ".join(f"0x{w:08X}u" for w in words[start:start + per_line])
        lines.append(row + ("," if start + per_line < len(words) else ""))
    lines += ["LW_TABLE_END", "// clang-format on", "LW_DECODE_END", "", "#endif", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    check = parser.parse_args().check
    version = importlib.metadata.version("gguf")
    differing = []
    for name, cls, layout in GRIDS:
        path = FOLDER / f"{name}_grid.h"
        text = text_of(name, cls, layout, version)
        if check:
            if not path.exists() or path.read_text() != text:
                differing.append(path.name)
        else:
            path.write_text(text)
    if differing:
        sys.exit("differ from what gguf " + version + " gives: " + ", ".join(differing))


if __name__ == "__main__":
    main()
