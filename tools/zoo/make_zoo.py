#!/usr/bin/env python3
"""Makes a zoo: one GGUF file with tensors of every weight format, for tests and the demo.

    make_zoo.py zoo.gguf [--model model.gguf] [--seed 1]

The weights are slices of a real model's (--model: its first large matrices, decoded by the gguf package), or Gaussian
numbers where none is given. libgguf (ggml's reference quantisers) encodes them; the IQ formats get an importance matrix
made from the slice itself (the mean square of each column). Q2_0, which libgguf doesn't have, is encoded here: d is half
of the weight of largest magnitude in the block of 64, sign included, so that this weight's code is exactly 2.

Every format stands in two shapes, with odd row counts; one Q4_K tensor has three dimensions (experts); one tensor is
plain data and no weights. The same model and seed give the same bytes.
"""

import argparse
import os
import struct
import sys

import numpy as np

try:
    import gguf
    import libgguf
except ImportError as missing:
    sys.exit(f"make_zoo.py: the Python package '{missing.name}' is missing: run it from the environment that ./dev setup makes")

# name, ggml id, elements and bytes of a block: facts of docs/formats.md, checked below against what the encoders return.
FORMATS = [
    ("f32", 0, 1, 4), ("f16", 1, 1, 2), ("bf16", 30, 1, 2),
    ("q4_0", 2, 32, 18), ("q4_1", 3, 32, 20), ("q5_0", 6, 32, 22), ("q5_1", 7, 32, 24), ("q8_0", 8, 32, 34),
    ("q2_K", 10, 256, 84), ("q3_K", 11, 256, 110), ("q4_K", 12, 256, 144), ("q5_K", 13, 256, 176), ("q6_K", 14, 256, 210),
    ("iq2_xxs", 16, 256, 66), ("iq2_xs", 17, 256, 74), ("iq2_s", 22, 256, 82), ("iq3_xxs", 18, 256, 98),
    ("iq3_s", 21, 256, 110), ("iq1_s", 19, 256, 50), ("iq1_m", 29, 256, 56), ("iq4_nl", 20, 32, 18), ("iq4_xs", 23, 256, 136),
    ("tq1_0", 34, 256, 54), ("tq2_0", 35, 256, 66), ("mxfp4", 39, 32, 17), ("nvfp4", 40, 64, 36),
    ("q1_0", 41, 128, 18), ("q2_0", 42, 64, 18),
]
ROWS = [1, 3, 13, 33, 65]
SUPER_BLOCKS = [9, 1, 5, 3, 8]  # K of the first tensor of a format, in units of 256
I32 = 26
ALIGNMENT = 32


class Weights:
    """Real weights in file order, or Gaussian ones; handed out slice by slice."""

    def __init__(self, path, seed, wanted):
        self.position = 0
        if path is None:
            self.source = f"Gaussian weights, seed {seed}"
            self.values = np.random.default_rng(seed).standard_normal(wanted, dtype=np.float32) * np.float32(0.02)
            return
        parts, names, total = [], [], 0
        for tensor in gguf.GGUFReader(path).tensors:
            if total >= wanted:
                break
            # Matrices inside the layers: an embedding has other statistics, a norm is no matrix.
            if len(tensor.shape) != 2 or not tensor.name.startswith("blk."):
                continue
            decoded = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(-1)
            parts.append(decoded)
            names.append(tensor.name)
            total += decoded.size
        if total < wanted:
            sys.exit(f"make_zoo.py: {path} holds {total} weights in its layers and {wanted} are wanted: give a larger model")
        self.source = f"weights of {os.path.basename(path)}: {', '.join(names)}"
        self.values = np.concatenate(parts)

    def take(self, rows, cols):
        first, self.position = self.position, self.position + rows * cols
        return np.ascontiguousarray(self.values[first:self.position].reshape(rows, cols))


def encode_bf16(w):
    bits = w.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype("<u2").tobytes()


def encode_q2_0(w):
    blocks = w.reshape(-1, 64)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1)[:, None], axis=1)
    d = (largest / 2).astype("<f2")
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(d == 0, np.float32(0), blocks / d.astype(np.float32))
    codes = np.clip(np.rint(scaled) + 1, 0, 3).astype(np.uint8).reshape(-1, 16, 4)
    packed = codes[:, :, 0] | codes[:, :, 1] << 2 | codes[:, :, 2] << 4 | codes[:, :, 3] << 6
    return b"".join(scale.tobytes() + row.tobytes() for scale, row in zip(d[:, 0], packed))


def decode_q2_0(data, cols):
    raw = np.frombuffer(data, dtype=np.uint8).reshape(-1, 18)
    d = raw[:, :2].copy().view("<f2").astype(np.float32)
    codes = np.stack([(raw[:, 2:] >> shift) & 3 for shift in (0, 2, 4, 6)], axis=-1).reshape(-1, 64)
    return (d * (codes.astype(np.float32) - 1)).reshape(-1, cols)


def encode(name, type_id, w):
    """The bytes of w in a format, and what they decode to."""
    rows, cols = w.shape
    if name == "f32":
        return w.astype("<f4").tobytes(), w
    if name == "f16":
        half = w.astype("<f2")
        return half.tobytes(), half.astype(np.float32)
    if name == "bf16":
        data = encode_bf16(w)
        return data, (np.frombuffer(data, "<u2").astype(np.uint32) << np.uint32(16)).view(np.float32).reshape(rows, cols)
    if name == "q2_0":
        data = encode_q2_0(w)
        return data, decode_q2_0(data, cols)
    importance = None
    if name.startswith("iq") or libgguf.quantize_requires_imatrix(type_id):
        # Positive everywhere: a column of zeros would have no say in any choice.
        importance = ((w * w).mean(axis=0) + np.float32(1e-8)).astype(np.float32)
    data = libgguf.quantize_rows(w, type_id, importance).tobytes()
    decoded = libgguf.dequantize_rows(np.frombuffer(data, np.uint8).reshape(rows, -1), type_id, cols)
    return data, np.asarray(decoded, dtype=np.float32).reshape(rows, cols)


def plan():
    """(name, format, id, block, bytes, dims as in the file: K first)."""
    tensors = []
    for i, (name, type_id, block, size) in enumerate(FORMATS):
        tensors.append((f"zoo.{name}.weight", name, type_id, block, size, (256 * SUPER_BLOCKS[i % 5], ROWS[i % 5])))
        short = 256 + max(block, 32) if block <= 64 else 2 * max(block, 256)
        tensors.append((f"zoo.{name}.short.weight", name, type_id, block, size, (short, ROWS[(i + 3) % 5])))
    by_name = {row[0]: row for row in FORMATS}
    tensors.append(("zoo.experts.q4_K.weight",) + by_name["q4_K"] + ((768, 13, 4),))
    return tensors


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def write(path, tensors, pairs):
    """tensors: (name, type id, dims, bytes); pairs: (key, string value)."""
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs))
    for key, value in pairs:
        header += string(key) + struct.pack("<I", 8) + string(value)
    offset = 0
    for name, type_id, dims, data in tensors:
        header += string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_id, offset)
        offset += len(data) + -len(data) % ALIGNMENT
    temporary = f"{path}.{os.getpid()}.partial"
    try:
        with open(temporary, "wb") as file:
            file.write(header + bytes(-len(header) % ALIGNMENT))
            for _, _, _, data in tensors:
                file.write(data + bytes(-len(data) % ALIGNMENT))
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        sys.exit(f"make_zoo.py: writing {path} failed: {error.strerror}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", help="the GGUF file to write")
    parser.add_argument("--model", help="a GGUF file whose weights are used")
    parser.add_argument("--seed", type=int, default=1, help="of the Gaussian weights where no model is given")
    parser.add_argument("--quiet", action="store_true", help="print only the last line")
    options = parser.parse_args(arguments)
    if options.model is not None and not os.path.isfile(options.model):
        sys.exit(f"make_zoo.py: there is no file {options.model}")

    planned = plan()
    source = Weights(options.model, options.seed, sum(int(np.prod(dims)) for *_, dims in planned))
    if not options.quiet:
        print(source.source)
        print(f"{'tensor':<28}{'format':<9}{'K x rows':<16}{'bytes':>9}  encoding error, rms / rms of the weights")
    tensors = []
    for name, format_name, type_id, block, size, dims in planned:
        cols, rows = dims[0], int(np.prod(dims[1:]))
        w = source.take(rows, cols)
        data, decoded = encode(format_name, type_id, w)
        if len(data) != rows * (cols // block) * size:
            sys.exit(f"make_zoo.py: {format_name} took {len(data)} bytes, and {rows * (cols // block) * size} are right")
        error = float(np.sqrt(np.mean((decoded - w) ** 2) / np.mean(w ** 2)))
        if not error < 1.0:
            sys.exit(f"make_zoo.py: {name} decodes to something else than its weights (error {error})")
        if not options.quiet:
            print(f"{name:<28}{format_name:<9}{' x '.join(map(str, dims)):<16}{len(data):>9}  {error:.4f}")
        tensors.append((name, type_id, dims, data))
    tensors.append(("zoo.plain_data", I32, (4,), struct.pack("<4i", 1, 2, 3, 4)))
    write(options.output, tensors, [("general.architecture", "zoo"), ("general.name", "every weight format"), ("zoo.source", source.source)])
    print(f"{options.output}: {len(tensors)} tensors of {len(FORMATS)} formats, {os.path.getsize(options.output)} bytes")


if __name__ == "__main__":
    main()
