#!/usr/bin/env python3
"""Compares `lanewise compare` with NumPy, on files that the package `gguf` writes.

    check_compare.py PROGRAM

Errors of weights and outputs are computed here from the package's own decoder, in float64, for an x of our own; a tensor
that is missing, one of another shape and one too many must be named; NVFP4's scale beside a tensor must be taken.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

ROWS, COLS, TOKENS = 24, 64, 11


def write(path, tensors, architecture="llama"):
    writer = gguf.GGUFWriter(path, architecture)
    for name, (data, kind) in tensors.items():
        if kind == Type.F32:
            writer.add_tensor(name, data.astype(np.float32))
        else:
            writer.add_tensor(name, gguf.quantize(data.astype(np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def decoded(data, kind):
    data = data.astype(np.float32)
    return (data if kind == Type.F32 else gguf.dequantize(gguf.quantize(data, kind), kind)).astype(np.float64)


def relative(got, expected):
    return float(np.sqrt(np.sum((got - expected) ** 2) / np.sum(expected ** 2)))


def near(what, got, expected, part):
    assert abs(got - expected) <= part * abs(expected) + 1e-15, f"{what}: {got}, and NumPy says {expected}"


def main():
    program = sys.argv[1]
    rng = np.random.default_rng(5)
    weights = {f"blk.{i}.ffn_{end}.weight": rng.normal(0, 0.02 * (i + 1), (ROWS + 8 * i, COLS))
               for i in range(3) for end in ("up", "down")}
    norm = rng.normal(1, 0.1, COLS)
    x = rng.normal(0, 1, (TOKENS, COLS)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.save(folder / "x.npy", x)
        reference, small, other = (str(folder / f"{name}.gguf") for name in ("reference", "q8_0", "mixed"))
        kinds = dict(zip(weights, [Type.Q4_0, Type.Q8_0, Type.Q5_1, Type.BF16, Type.F16, Type.Q4_1]))
        write(reference, {**{name: (data, Type.F32) for name, data in weights.items()},
                          "output_norm.weight": (norm, Type.F32)})
        write(small, {**{name: (data, Type.Q8_0) for name, data in weights.items()},
                      "output_norm.weight": (norm, Type.F32)})
        mixed = {name: (data, kinds[name]) for name, data in weights.items()}
        del mixed["blk.2.ffn_down.weight"]
        mixed["blk.1.ffn_up.weight"] = (weights["blk.1.ffn_up.weight"][:-1], Type.Q8_0)
        mixed["extra.weight"] = (weights["blk.0.ffn_up.weight"], Type.F16)
        mixed["output_norm.weight"] = (norm + 0.5, Type.F32)
        write(other, mixed)
        ran = subprocess.run([program, "compare", reference, small, other, "-x", str(folder / "x.npy"), "--bytes", "200000",
                              "--window", "3", "--rounds", "1", "--json", str(folder / "out.json")],
                             capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        document = json.loads((folder / "out.json").read_text())
        for words in ("1 of the reference aren't there: blk.2.ffn_down.weight", "1 aren't in the reference: extra.weight",
                      "1 have another shape in the reference: blk.1.ffn_up.weight: 64x32 and 64x31",
                      "1 vector is the same as in the reference"):
            assert words in ran.stdout, f"{words!r} isn't said in\n{ran.stdout}"
        table = [line for line in ran.stdout.split("\n") if line and not line.startswith(("note:", "x:"))]
        assert all(len(line) <= 120 for line in table), max(table, key=len)

        files = {document["files"][0]["file"]: {name: Type.Q8_0 for name in weights},
                 document["files"][1]["file"]: {name: kind for name, (_, kind) in mixed.items() if name in weights}}
        assert list(files) == [small, other]
        compared = 0
        for entry in [document["reference"], *document["files"]]:
            total, squares, outputs = 0, 0.0, 0.0
            for matrix in entry["matrices"]:
                name = matrix["name"]
                if name == "output_norm.weight":
                    near(name, matrix["weights"]["max"], 0.5 if entry["file"] == other else 0, 1e-5)
                    assert "outputs" not in matrix
                    continue
                kind = files.get(entry["file"], {}).get(name, Type.F32)
                exact = weights[name].astype(np.float32).astype(np.float64)
                got = decoded(weights[name], kind)
                assert matrix["format"] == kind.name.lower() and matrix["x"] == "given"
                assert (matrix["rows"], matrix["cols"]) == exact.shape
                if kind == Type.F32:
                    assert matrix["weights"]["relative_rms"] == 0 and matrix["weights"]["snr_db"] is None
                else:
                    near(name, matrix["weights"]["relative_rms"], relative(got, exact), 1e-9)
                    near(name, matrix["weights"]["max"], float(np.abs(got - exact).max()), 1e-12)
                    near(name, matrix["weights"]["snr_db"], -20 * np.log10(relative(got, exact)), 1e-9)
                    near(name, matrix["weights"]["cosine"],
                         float(np.sum(got * exact) / np.sqrt(np.sum(got ** 2) * np.sum(exact ** 2))), 1e-12)
                    # y is the library's, of x in 16 bits: the arithmetic's error, which is small, comes to the format's.
                    error = relative(x.astype(np.float64) @ got.T, x.astype(np.float64) @ exact.T)
                    near(name, matrix["outputs"]["relative_rms"], (error ** 2 + matrix["arithmetic"] ** 2) ** 0.5, 0.05)
                assert 0 < matrix["arithmetic"] < 3e-4, (name, matrix["arithmetic"])
                assert [time["tokens"] for time in matrix["us"]] == [1, 3]
                assert all(time["us"] > 0 for time in matrix["us"])
                total += exact.size
                squares += exact.size * matrix["weights"]["relative_rms"] ** 2
                outputs += exact.size * matrix["outputs"]["relative_rms"] ** 2
                compared += 1
            assert entry["weights"] == total
            near("weight_error", entry["weight_error"], (squares / total) ** 0.5, 1e-9)
            near("output_error", entry["output_error"], (outputs / total) ** 0.5, 1e-9)
            near("us", entry["us"][1]["us"], sum(m["us"][1]["us"] for m in entry["matrices"] if "us" in m), 1e-9)
        assert compared == 6 + 6 + 4, compared

        # The result is the same whatever the threads.
        for threads in ("1", "3"):
            again = subprocess.run([program, "compare", reference, small, "-x", str(folder / "x.npy"), "--no-time",
                                    "--threads", threads, "--json", "-"], capture_output=True, text=True, check=True)
            again = json.loads(again.stdout)
            assert again["files"][0]["output_error"] == document["files"][0]["output_error"]
            assert again["files"][0]["us"] == [] and again["timed"] is False
    print(f"{compared} matrices compared with NumPy")


if __name__ == "__main__":
    main()
