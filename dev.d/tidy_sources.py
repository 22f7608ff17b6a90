#!/usr/bin/env python3
"""What clang-tidy has to be run on: the sources among the file names that are read, one a line, and for each header one
source that includes it. Prints them, the library's first, and writes the commands that compile them to OUT.

Includes are followed by name, as the build's include directories resolve them. A source is what DATABASE (a
compile_commands.json; of several, the first that has it) compiles, units that the build generates included. What no
DATABASE compiles (another architecture's, another compiler's) and what no source includes is named on stderr.

usage: tidy_sources.py ROOT OUT DATABASE... < names
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ["src", "include", "tests", "tools/lanewise", "fuzz"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
HEADERS, SOURCES = (".h", ".hpp"), (".c", ".cpp")
# A header that only generated units include is seen through those of these formats: one of each kind of decoding.
SEEN_THROUGH = ("_q4_K.cpp", "_q6_K.cpp", "_iq3_s.cpp", "_mxfp4.cpp", "_bf16.cpp")


def read_databases(root, paths):
    """source: the entry that compiles it, without a precompiled header, which only the build makes."""
    result = {}
    for path in paths:
        for entry in json.loads(Path(path).read_text()):
            name = Path(entry["directory"], entry["file"])
            if name.suffix in SOURCES and name.is_relative_to(root) and name.is_file():
                entry["command"] = re.sub(r" -Xclang -include-pch -Xclang \S+", "", entry["command"])
                result.setdefault(name.relative_to(root).as_posix(), entry)
    return result


def includers(root, names):
    """header: the files that include it."""
    result = {name: set() for name in names}
    decoders = [name for name in names if name.endswith(".decode.h")]
    for name in names:
        for target in INCLUDE.findall((root / name).read_text(errors="replace")):
            near = (Path(name).parent / target).as_posix()
            found = [n for n in [near] + [f"{folder}/{target}" for folder in FOLDERS] if n in result]
            for header in decoders if target == "formats/decode.h" else found[:1]:
                result[header].add(name)
    return result


def sources_of(header, graph, compiled, generated):
    """The nearest source of the repository that includes it, or else generated ones."""
    seen, ring, units = {header}, [header], []
    while ring:
        ring = sorted({includer for name in ring for includer in graph[name]} - seen)
        for name in ring:
            if name in compiled and name not in generated:
                return [name]
        units = units or [name for name in ring if name in generated and name.endswith(SEEN_THROUGH)]
        seen.update(ring)
    return units


def rank(name):
    return 0 if name.startswith("src/") else 1 if name.startswith("build/") else 3 if name.startswith("tests/") else 2


def main():
    root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    compiled = read_databases(root, sys.argv[3:])
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True,
                            check=True).stdout.split("\n")
    listed = [name for name in listed if name.endswith(HEADERS + SOURCES) and (root / name).is_file()]
    generated = sorted(compiled.keys() - set(listed))
    graph = includers(root, listed + generated)
    chosen, left = set(), []
    for name in sorted(set(sys.stdin.read().split("\n")) & set(listed)):
        found = [name] if name in compiled else [] if name.endswith(SOURCES) else sources_of(name, graph, compiled, generated)
        chosen.update(found)
        if not found:
            left.append(name)
    if left:
        print("tidy: left out, since nothing that is compiled here is or includes them:", *left, file=sys.stderr)
    out.write_text(json.dumps([compiled[name] for name in sorted(chosen)], indent=1))
    print("\n".join(sorted(chosen, key=lambda name: (rank(name), name))))


if __name__ == "__main__":
    main()
