#!/usr/bin/env python3
"""Rules about the tree that no compiler checks.

usage: lint.py RULE [ROOT]       prints each breach as PATH:LINE: MESSAGE; exit status 1 if there is one, 77 if it cannot run

  checks    CHECK lines that FileCheck would not see: no colon, an unknown suffix, a prefix that no RUN line asks for
  paths     paths that documents name exist
  machine   no path of somebody's machine
  long      a source file of more than 500 lines says why near its top: `Long because: …`
  format    C++ sources are as clang-format 22 leaves them
"""

import glob
import os
import re
import shutil
import subprocess
import sys

LONG_LINES = 500
TOP_LINES = 40
SKIPPED = 77


class Tree:
    """The files of a checkout, those that git ignores left out."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        try:
            listing = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.root, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            ).stdout.decode()  # fmt: skip
            found = listing.split("\0")
        except (OSError, subprocess.CalledProcessError):  # an unpacked archive, no git
            found = [
                os.path.relpath(os.path.join(folder, name), self.root)
                for folder, _, names in os.walk(self.root)
                for name in names
                if not os.path.relpath(folder, self.root).startswith("build")
            ]
        self.files = sorted(f for f in set(found) if f and os.path.isfile(os.path.join(self.root, f)))

    def ending(self, *suffixes):
        return [f for f in self.files if f.endswith(suffixes)]

    def text(self, path):
        """The file's text, or None for a binary one."""
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        return None if b"\0" in data else data.decode("utf-8", errors="replace")

    def lines(self, path):
        return enumerate((self.text(path) or "").splitlines(), start=1)


# checks ---------------------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"^\s*(?://+|#+|;+)\s*(.*)$")
DIRECTIVE_SUFFIX = r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-[1-9][0-9]*))?(?:\{LITERAL\})?:"


def check_prefixes(text):
    """The prefixes that the file's RUN lines give to FileCheck."""
    asked = re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", text)
    prefixes = {name for names in asked for name in names.split(",")}
    for line in re.findall(r"RUN:(.*)", re.sub(r"\\\n\s*(?://+|#+|;+)\s*(?:RUN:)?", " ", text)):
        if any("FileCheck" in stage and "check-prefix" not in stage for stage in line.split("|")):
            prefixes.add("CHECK")
    return prefixes


def rule_checks(tree):
    for path in tree.ending(".mlir", ".tsr", ".test", ".td"):
        if not path.startswith("tests/"):
            continue
        prefixes = check_prefixes(tree.text(path) or "")
        seen = [re.compile(re.escape(prefix) + DIRECTIVE_SUFFIX) for prefix in prefixes]
        for number, line in tree.lines(path):
            comment = COMMENT.match(line)
            word = comment and re.match(r"[A-Z][A-Z0-9_-]*", comment.group(1))
            if not word or any(pattern.match(comment.group(1)) for pattern in seen):
                continue
            name = word.group(0)
            if re.fullmatch(r"RUN|REQUIRES|UNSUPPORTED|XFAIL", name):
                if not comment.group(1).startswith(name + ":"):
                    yield path, number, f"lit does not see this line: expected `{name}:`"
            elif "CHECK" in name or any(name.startswith(prefix) for prefix in prefixes):
                asked = ", ".join(sorted(prefixes)) or "none"
                yield path, number, f"FileCheck does not see `{name}` as written (prefixes of the RUN lines: {asked})"


# paths ----------------------------------------------------------------------------------------------------------------


def named_paths(text):
    """(line number, path) of everything in a document that may be a path: words in code, targets of links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        code = [line] if fenced else re.findall(r"`([^`]+)`", line)
        for words in code:
            yield from ((number, word, False) for word in re.split(r"[\s\"'()=|]+|,(?![^{]*\})", words))
        if not fenced:
            yield from ((number, target, True) for target in re.findall(r"\]\(([^)\s]+)\)", line))


def rule_paths(tree):
    tops = {f.split("/")[0] for f in tree.files if "/" in f}
    folders = {"/".join(f.split("/")[:i]) for f in tree.files for i in range(1, f.count("/") + 1)}
    known = folders | set(tree.files)
    for path in tree.ending(".md"):
        for number, word, is_link in named_paths(tree.text(path) or ""):
            word = re.sub(r"(#.*|:\d[\d:-]*|[:;.]+)$", "", word)
            if is_link:
                if "://" in word or not word or word.startswith("mailto:"):
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(path), word))
            elif "/" in word and word.split("/")[0] in tops:
                target = os.path.normpath(word)
            else:
                continue
            if re.search(r"[<>$…]|[A-Z]{4,}(?!\.md|Lists)", target):
                continue  # a placeholder such as NAME
            if re.search(r"[*?{\[]", target):
                pattern = re.sub(r"\{[^}]*\}", "*", target)
                exists = bool(glob.glob(os.path.join(glob.escape(tree.root), pattern), recursive=True))
            else:
                exists = target in known
            if not exists:
                yield path, number, f"`{word}` does not exist"


# machine --------------------------------------------------------------------------------------------------------------

PUBLIC_ROOTS = "bin data dev etc lib lib64 no nonexistent opt path proc run sbin sys tmp usr var".split()
ABSOLUTE = re.compile(r"(?:^|(?<=[\s\"'`(=:,<\[]))/([A-Za-z][\w.-]*)/[\w.-]+")


def rule_machine(tree):
    # "/tests/x" is joined to the folder of the checkout somewhere.
    allowed = {*PUBLIC_ROOTS, *(f.split("/")[0] for f in tree.files)}
    for path in tree.files:
        for number, line in tree.lines(path):
            for found in ABSOLUTE.finditer(line):
                if found.group(1) not in allowed:
                    yield path, number, f"`{found.group(0)}` looks like a place on one machine"
            if tree.root in line:
                yield path, number, "names the folder of this checkout"


# long -----------------------------------------------------------------------------------------------------------------


def rule_long(tree):
    for path in tree.ending(".cpp", ".h", ".hpp", ".cu", ".cuh", ".td", ".py", ".def", ".inc"):
        lines = (tree.text(path) or "").splitlines()
        if len(lines) > LONG_LINES and not re.search(r"(//|#) Long because: \w", "\n".join(lines[:TOP_LINES])):
            yield path, 1, f"{len(lines)} lines: split it, or say `Long because: …` in the first {TOP_LINES}"


# format ---------------------------------------------------------------------------------------------------------------


def rule_format(tree):
    if not shutil.which("clang-format-22"):
        raise FileNotFoundError("clang-format-22 is not installed")
    sources = tree.ending(".cpp", ".h", ".cu", ".cuh")
    half = (len(sources) + 1) // 2
    runs = [
        subprocess.Popen(
            ["clang-format-22", "--dry-run", "--ferror-limit=1", *part],
            cwd=tree.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        for part in (sources[:half], sources[half:])
        if part
    ]
    for run in runs:
        for path, number in re.findall(r"^(.+?):(\d+):\d+: (?:warning|error)", run.communicate()[1], re.M):
            yield path, int(number), "not as clang-format leaves it: run clang-format-22 -i"


RULES = {name[5:]: rule for name, rule in list(globals().items()) if name.startswith("rule_")}


def main(args):
    if len(args) not in (1, 2) or args[0] not in RULES:
        print(__doc__, file=sys.stderr)
        return 2
    root = args[1] if len(args) == 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    try:
        breaches = list(RULES[args[0]](Tree(root)))
    except FileNotFoundError as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    for path, number, message in breaches:
        print(f"{path}:{number}: {message}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
