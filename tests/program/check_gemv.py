#!/usr/bin/env python3
"""Compares `lanewise gemv` and `dequant` with NumPy, through a zoo of every format.

    check_gemv.py PROGRAM MAKE_ZOO

For each weight tensor of the zoo: the program's weights equal those of libgguf's decoder bit for bit (Q2_0, which libgguf
doesn't have, those of the zoo's own decoder), and y is near float64's W * x: at x24 within 1e-6 and at x16 within
1e-4 of the sum of |w * x|. That is a coarse check on purpose, of a third kind beside the oracle's bits and bounds: it sees
swapped tokens, transposed files and wrong rows through NumPy's eyes.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import libgguf
import numpy as np

TOKENS = 3
BOUNDS = {"x16": 1e-4, "x24": 1e-6}


def load_module(path):
    spec = importlib.util.spec_from_file_location("make_zoo", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference(zoo, name, type_id, data, rows, cols):
    if name == "f32":
        return np.frombuffer(data, "<f4").reshape(rows, cols)
    if name == "f16":
        return np.frombuffer(data, "<f2").astype(np.float32).reshape(rows, cols)
    if name == "bf16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << np.uint32(16)).view(np.float32).reshape(rows, cols)
    if name == "q2_0":
        return zoo.decode_q2_0(data, cols)
    if name == "q6_0":
        return zoo.decode_q6_0(data, cols)
    raw = np.frombuffer(data, np.uint8).reshape(rows, -1)
    return np.asarray(libgguf.dequantize_rows(raw, type_id, cols), dtype=np.float32).reshape(rows, cols)


def main():
    program, make_zoo = sys.argv[1], sys.argv[2]
    zoo = load_module(make_zoo)
    table = (pathlib.Path(make_zoo).resolve().parents[2] / "src" / "formats" / "formats.def").read_text()
    rows = re.findall(r"^LW_FORMAT\((\w+), \w+, (\d+), (\d+), (\d+),", table, re.M)
    assert zoo.FORMATS == [(name, *map(int, facts)) for name, *facts in rows], "the zoo and formats.def list other formats"
    checked, worst = 0, dict.fromkeys(BOUNDS, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = folder / "zoo.gguf"
        again = folder / "again.gguf"
        # In this process: libgguf takes 20 s to make its quantisers' tables, once a process.
        for path in (model, again):
            zoo.main([str(path), "--quiet"])
        assert model.read_bytes() == again.read_bytes(), "the zoo is not deterministic"
        listing = subprocess.run([program, "info", model, "--tensors", "--json", "-"], check=True, capture_output=True)

        tensors = {tensor["name"]: tensor for tensor in json.loads(listing.stdout)["list"]}
        file = model.read_bytes()
        rng = np.random.default_rng(7)
        for name, format_name, type_id, _, _, dims in zoo.plan():
            cols, rows, count = dims[0], dims[1], dims[2] if len(dims) == 3 else 1
            place = tensors[name]
            data = file[place["offset"]:place["offset"] + place["bytes"]]
            everything = reference(zoo, format_name, type_id, data, rows * count, cols).reshape(count, rows, cols)
            for i in range(count):
                w, called = everything[i], f"{name}[{i}]" if count > 1 else name
                subprocess.run([program, "-q", "dequant", model, called, "-o", folder / "w.npy"], check=True)
                decoded = np.load(folder / "w.npy")
                assert decoded.shape == (rows, cols) and decoded.tobytes() == w.tobytes(), f"{called}: other weights"
                # fp16 values, so that both types of file hold the same x.
                x = rng.standard_normal((TOKENS, cols)).astype(np.float16)
                exact = x.astype(np.float64) @ w.astype(np.float64).T
                terms = np.abs(x.astype(np.float64)) @ np.abs(w.astype(np.float64)).T
                for planes, bound in BOUNDS.items():
                    results = []
                    for dtype in (np.float32, np.float16):
                        np.save(folder / "x.npy", x.astype(dtype))
                        subprocess.run([program, "-q", "gemv", model, called, "-x", folder / "x.npy", "-o", folder / "y.npy",
                                        "--activation", planes], check=True)
                        results.append(np.load(folder / "y.npy"))
                    assert results[0].shape == (TOKENS, rows) and results[0].dtype == np.float32, f"{called}: shape of y"
                    assert results[0].tobytes() == results[1].tobytes(), f"{called}: fp16 and fp32 x differ"
                    assert np.abs(exact).max() > 0, f"{called}: a reference of zeros shows nothing"
                    error = float((np.abs(results[0] - exact) / terms).max())
                    # Float weights meet an x of their own (docs/arithmetic.md, section 4): 13 bits for F16.
                    limit = max(bound, 2e-4) if format_name in ("f16", "bf16") else bound
                    assert error <= limit, f"{called} {planes}: error {error} of the sum of terms, {limit} allowed"
                    if format_name not in ("f16", "bf16"):
                        worst[planes] = max(worst[planes], error)
                    checked += results[0].size
    summary = ", ".join(f"worst error at {planes} {error:.1e} of the sum of terms" for planes, error in worst.items())
    print(f"{checked} values of y against NumPy in float64: {summary}; all weights equal")


if __name__ == "__main__":
    main()
