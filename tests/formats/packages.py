"""What the scripts of this folder share: the formats, blocks to decode, and the decoders that judge ours."""

import importlib.metadata
import pathlib
import re

import gguf
import libgguf
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAN = np.uint32(0x7FC00000)

# Where the bytes of a format's float scales lie: (offset, kind), halves for "h", single bytes for "b". Written from the
# formats' descriptions, for placing special values; the decoders read nothing from here.
SCALES = {
    "q4_0": [(0, "h")], "q4_1": [(0, "h"), (2, "h")], "q5_0": [(0, "h")], "q5_1": [(0, "h"), (2, "h")],
    "q8_0": [(0, "h")], "q2_K": [(80, "h"), (82, "h")], "q3_K": [(108, "h")], "q4_K": [(0, "h"), (2, "h")],
    "q5_K": [(0, "h"), (2, "h")], "q6_K": [(208, "h")], "iq2_xxs": [(0, "h")], "iq2_xs": [(0, "h")],
    "iq2_s": [(0, "h")], "iq3_xxs": [(0, "h")], "iq3_s": [(0, "h")], "iq1_s": [(0, "h")], "iq1_m": [(48, "scattered")],
    "iq4_nl": [(0, "h")], "iq4_xs": [(0, "h")], "tq1_0": [(52, "h")], "tq2_0": [(64, "h")], "mxfp4": [(0, "b")],
    "nvfp4": [(0, "b"), (1, "b"), (2, "b"), (3, "b")], "q1_0": [(0, "h")], "q2_0": [(0, "h")],
    "f32": [], "f16": [], "bf16": [],
}

# Largest and smallest normals and subnormals, one, zeros, infinities, a signalling and a quiet NaN.
SPECIAL_HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00,
                  0xFC00, 0x7C01, 0xFE01, 0x7FFF]
SPECIAL_BYTES = [0x00, 0x01, 0x02, 0x7E, 0x7F, 0x80, 0x81, 0x87, 0x88, 0xFE, 0xFF, 0x38, 0x08, 0x07, 0x40, 0xC0]


def formats():
    """(name, id, elements, bytes) of every row of formats.def."""
    rows = re.findall(r"^LW_FORMAT\((\w+), \w+, (\d+), (\d+), (\d+),",
                      (ROOT / "src/formats/formats.def").read_text(), re.M)
    assert len(rows) == len(SCALES), "formats.def has other formats than this script knows"
    return [(name, int(number), int(elements), int(size)) for name, number, elements, size in rows]


def set_scale(block, place, value):
    offset, kind = place
    if kind == "h":
        block[offset:offset + 2] = np.frombuffer(np.uint16(value).tobytes(), np.uint8)
    elif kind == "b":
        block[offset] = value & 0xFF
    else:  # IQ1_M: a nibble atop each of four 16-bit words
        for i in range(4):
            top = offset + 2 * i + 1
            block[top] = (block[top] & 0x0F) | ((value >> (4 * i)) & 15) << 4


def specials_of(place):
    return SPECIAL_BYTES if place[1] == "b" else SPECIAL_HALVES


def blocks_of(name, size, count, rng):
    """Random blocks; in every second one each float scale is a special value now and then, so that all pairs occur."""
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for index in range(0, count, 2):
        for place in SCALES[name]:
            special = specials_of(place)
            if rng.integers(4) != 0:
                set_scale(blocks[index], place, special[rng.integers(len(special))])
    return blocks


def canonical(values):
    """fp32 bits with every NaN as 0x7FC00000."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).reshape(-1).copy()
    bits[(bits & 0x7FFFFFFF) > 0x7F800000] = NAN
    return bits


def by_gguf(name, blocks):
    """Bits by the package gguf, or None where it has no decoder."""
    number = next(number for row, number, *_ in formats() if row == name)
    if name in ("q1_0", "q2_0"):
        return None
    with np.errstate(all="ignore"):
        shaped = blocks.reshape(-1) if name in ("f32", "f16") else blocks
        return canonical(gguf.quants.dequantize(shaped, gguf.GGMLQuantizationType(number)))


def by_libgguf(name, blocks):
    """Bits by the package libgguf, or None where it has no decoder."""
    if name in ("q2_0", "f32", "f16", "bf16"):
        return None
    number = next(number for row, number, *_ in formats() if row == name)
    return canonical(libgguf.dequantize_rows(blocks, number))


def by_statement(name, blocks):
    """Q2_0, which no package decodes, from its description: element j at byte 2 + j div 4, bits 2 * (j mod 4), less 1."""
    if name != "q2_0":
        return None
    d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    element = np.arange(64)
    codes = ((blocks[:, 2 + element // 4] >> (2 * (element % 4)).astype(np.uint8)) & 3).astype(np.float32) - 1
    with np.errstate(all="ignore"):
        return canonical(d * codes)


JUDGES = {
    "gguf " + importlib.metadata.version("gguf"): by_gguf,
    "libgguf " + importlib.metadata.version("libgguf"): by_libgguf,
    "the numpy statement of tests/formats/packages.py": by_statement,
}
