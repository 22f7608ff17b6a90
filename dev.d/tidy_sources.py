#!/usr/bin/env python3
"""Reads file names, one a line; prints the sources among them and, for each header, one source that includes it.

Includes are followed by name, as the build's include directories resolve them. A header that no source includes is
named on stderr. usage: tidy_sources.py ROOT < names
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ["src", "include", "tests", "tools/lanewise", "fuzz"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


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


def source_of(header, graph):
    seen, ring = {header}, [header]
    while ring:
        ring = sorted({includer for name in ring for includer in graph[name]} - seen)
        for name in ring:
            if name.endswith(".cpp"):
                return name
        seen.update(ring)
    return None


def main():
    root = Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", "*.h", "*.hpp", "*.cpp"],
                            capture_output=True, text=True, check=True).stdout.split("\n")
    graph = includers(root, [name for name in listed if (root / name).is_file()])
    chosen = set()
    for name in sys.stdin.read().split("\n"):
        if name.endswith(".cpp"):
            chosen.add(name)
        elif name in graph:
            source = source_of(name, graph)
            if source:
                chosen.add(source)
            else:
                print(f"tidy: no source includes {name}", file=sys.stderr)
    print("\n".join(sorted(chosen)))


if __name__ == "__main__":
    main()
