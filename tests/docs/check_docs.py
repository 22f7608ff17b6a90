#!/usr/bin/env python3
"""What the documents say is so: links resolve, the README's example is examples/gemv.cpp, the map names every room.

usage: check_docs.py [ROOT]

Also the rules of the house that a machine can see: no source file over 800 lines, no path of somebody's machine and no
address outside a short list. Prints one line a fault and exits with 1. Every check is first tried on a tree made to
fail it, so that it can be seen to work.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".comp", ".glsl", ".metal", ".py", ".sh", ".cmake"}
MAX_LINES = 800
MAX_EXAMPLE_LINES = 30
# Hosts that a text may name: licences, papers, and where the tables and the file format come from.
HOSTS = {"www.apache.org", "git-lfs.github.com", "github.com", "arxiv.org", "www.shellcheck.net", "json-schema.org"}
# Spelt in pieces, so that this file passes its own check.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:wor" + r"k|roo" + r"t|hom" + r"e)/\w|\.\./sha" + r"red\b")
ADDRESS = re.compile(r"\bhttps?://([\w.-]+)")


def files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # an unpacked archive
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
    return [root / name for name in sorted(names)
            if not re.match(r"(build|\.venv|\.cache|\.git)/", name) and (root / name).is_file()]


def documents(root):
    return [path for path in files(root) if path.suffix == ".md"]


def prose(text):
    """The text without its code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(text):
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def check_links(root):
    for path in documents(root):
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text())):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            to = path.parent / name if name else path
            if not to.exists():
                yield f"{path.relative_to(root)}: link to {target}: no such file"
            elif anchor and anchor not in anchors(to.read_text()):
                yield f"{path.relative_to(root)}: link to {target}: no such heading"


def check_example(root):
    blocks = re.findall(r"^```cpp\n(.*?)^```", (root / "README.md").read_text(), flags=re.M | re.S)
    example = (root / "examples" / "gemv.cpp").read_text()
    if example not in blocks:
        yield "README.md: no ```cpp block is examples/gemv.cpp, byte for byte"
    if example.count("\n") > MAX_EXAMPLE_LINES:
        yield f"examples/gemv.cpp: {example.count(chr(10))} lines, over {MAX_EXAMPLE_LINES}"


def check_map(root):
    text = (root / "docs" / "map.md").read_text()
    rooms = {path.parent.relative_to(root).as_posix() for path in files(root)
             if path.relative_to(root).parts[0] in ("src", "tests", "tools") and path.parent != root}
    top = {path.relative_to(root).parts[0] for path in files(root) if len(path.relative_to(root).parts) > 1}
    for room in sorted({room for room in rooms if room.count("/") == 1 or room.startswith("src/backends/")} | top):
        if f"`{room}/`" not in text:
            yield f"docs/map.md: does not name `{room}/`"
    for name in re.findall(r"`((?:src|tests|tools|docs|cmake|fuzz|examples|include)/[\w./-]+)`", text):
        if not (root / name).exists():
            yield f"docs/map.md: names `{name}`, which is not there"


def check_tasks(root):
    """Every ./dev task that a document names is one, and every task is in the README."""
    usage = subprocess.run(["bash", str(root / "dev"), "help"], capture_output=True, text=True, check=True).stdout
    tasks = set(re.findall(r"^  (\w+) ", usage, flags=re.M))
    for path in documents(root):
        for task in re.findall(r"\./dev (\w+)", path.read_text()):
            if task not in tasks:
                yield f"{path.relative_to(root)}: ./dev has no task '{task}'"
    for task in sorted(tasks):
        if f"./dev {task}" not in (root / "README.md").read_text():
            yield f"README.md: does not name ./dev {task}"


def check_count(root):
    """The README says how many formats there are."""
    rows = re.findall(r"^LW_FORMAT\(.*, (\w+), \d, \d\)$", (root / "src/formats/formats.def").read_text(), flags=re.M)
    readme = (root / "README.md").read_text()
    for count, words in ((len(rows), "weight formats"), (sum(kind != "FLOAT" for kind in rows), "formats of codes")):
        if f" {count} {words}" not in readme:
            yield f"README.md: does not say '{count} {words}', as formats.def has it"


def check_instruction_sets(root):
    """Wherever the values of LANEWISE_ISA are listed, they are those of the CPU's backend."""
    names = "|".join(re.findall(r'^ +Isa\{"(\w+)"', (root / "src/backends/cpu/cpu.cpp").read_text(), flags=re.M))
    for path in documents(root) + [root / "tools/lanewise/commands.cpp"]:
        for listed in re.findall(r"LANEWISE_ISA=(\w+(?:\|\w+)+)", path.read_text()):
            if listed != names:
                yield f"{path.relative_to(root)}: LANEWISE_ISA is one of {listed}, in cpu.cpp of {names}"


def check_length(root):
    for path in files(root):
        if path.suffix in SOURCE and "tables" not in path.parts:
            lines = path.read_bytes().count(b"\n")
            if lines > MAX_LINES:
                yield f"{path.relative_to(root)}: {lines} lines, over {MAX_LINES}"


def check_places(root):
    for path in files(root):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield f"{path.relative_to(root)}:{number}: a path of somebody's machine: {line.strip()[:100]}"
            for host in ADDRESS.findall(line):
                if host not in HOSTS:
                    yield f"{path.relative_to(root)}:{number}: an address outside the list of {Path(__file__).name}: {host}"


CHECKS = [check_links, check_example, check_map, check_tasks, check_count, check_instruction_sets, check_length, check_places]


def try_checks():
    """Faults planted into a small tree: the checks that find nothing in it."""
    bad = {
        "README.md": "[gone](docs/gone.md) [gone](#gone)\n```cpp\nint main() {}\n```\n./dev dance\n",
        "docs/map.md": "`src/here/` `src/gone/file.cpp`\n",
        "src/here/a.cpp": "// /hom" + "e/somebody\n" + "\n" * MAX_LINES,
        "src/there/b.cpp": "// https:" + "//registry.example.org/\n",
        "examples/gemv.cpp": "int main() { return 0; }\n",
        "dev": "echo '  demo   x'\n",
        "docs/isa.md": "LANEWISE_ISA=scalar|avx2\n",
        "tools/lanewise/commands.cpp": '"LANEWISE_ISA=scalar|neon|avx"\n',
        "src/backends/cpu/cpu.cpp": '    Isa{"scalar", 0},\n    Isa{"neon", 1},\n',
        "src/formats/formats.def": "LW_FORMAT(a, A, 0, 1, 4, 1, 1, 32, FLOAT, 0, 0)\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in bad.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        wanted = {check_links: 2, check_example: 1, check_map: 9, check_tasks: 2, check_count: 2,
                  check_instruction_sets: 2, check_length: 1, check_places: 2}
        for check in CHECKS:
            found = list(check(root))
            if len(found) != wanted[check]:
                yield f"{check.__name__} finds {len(found)} planted faults of {wanted[check]}: {found}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    faults = list(try_checks())
    for check in CHECKS:
        faults += check(root)
    print("\n".join(faults) or f"{len(files(root))} files, {len(documents(root))} documents: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
