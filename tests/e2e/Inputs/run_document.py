"""Runs the commands of a document and compares what they print with what it says.

    run_document.py DOCUMENT ROOT FOLDER

ROOT is the checkout; FOLDER, which is made, stands for it while the commands run. Before each fenced block of the
document there is a comment that says what the block is:

    <!-- run -->                     commands, which must succeed; `cd` and `export` hold for those that follow
    <!-- run, may fail -->           they need something that this machine may not have
    <!-- run, needs FILE -->         they are skipped if the file does not exist
    <!-- output -->                  what the commands of the block before print, after lines that are not shown
    <!-- output of: COMMANDS -->     what these print
    <!-- file: PATH -->              the text of that file, from the root of the checkout
    <!-- not run: REASON -->

Figures that depend on the processor are compared loosely: sizes within a fifth, other numbers with a fraction within a
tenth. Lines of progress, which a terminal overwrites, are left out. `(loose)` after `output` compares the first word.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

COMMENT = re.compile(r"^<!-- (run|output|file|not run)\b([^\n]*?) -->\n```\w*\n(.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^```\w*\n.*?^```$", re.M | re.S)
PROGRESS = re.compile(r"step \d+/\d+ ")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def blocks_of(text):
    """(line, kind, rest of the comment, text) of each block."""
    found = [
        (text.count("\n", 0, block.start()) + 1, block.group(1), block.group(2).strip(" ,:"), block.group(3))
        for block in COMMENT.finditer(text)
    ]
    fences = len(FENCE.findall(text))
    assert len(found) == fences, f"{fences - len(found)} of {fences} blocks have no comment that says what they are"
    return found


def script_of(blocks, out):
    """One script for all blocks, so that the state of the shell lasts; each block has files of its own."""
    lines = ["set -e"]
    for line, kind, rest, text in blocks:
        commands = text if kind == "run" else rest.removeprefix("of:").strip() if rest.startswith("of:") else ""
        if not commands:
            continue
        failed = f"|| touch {out}/{line}.failed" if rest == "may fail" else ""
        run = f"{{ {commands.rstrip()}\n}} > {out}/{line}.out 2>&1 < /dev/null {failed}"
        if kind == "run" and rest.startswith("needs "):
            run = f"if [ -s {rest.removeprefix('needs ')} ]; then\n{run}\nfi"
        lines += [f"echo {line} > {out}/at", run]
    return "\n".join(lines) + "\n"


def is_like(said, printed):
    """Whether two lines are equal but for figures that depend on the processor."""
    said, printed = (re.sub(r"\b\d+ threads?\b", "N threads", line.rstrip()) for line in (said, printed))
    if NUMBER.sub("#", said) != NUMBER.sub("#", printed):
        return False
    is_size = "arena" in said
    for a, b in zip(NUMBER.findall(said), NUMBER.findall(printed)):
        allowed = 0.2 if is_size else 0.1 if "." in a or "." in b else 0
        if abs(float(a) - float(b)) > allowed * abs(float(a)):
            return False
    return True


def compare(line, said, printed, is_loose):
    """The document's lines must follow each other in what was printed."""
    said, printed = said.splitlines(), [each for each in printed.splitlines() if not PROGRESS.match(each)]
    if is_loose:
        said, printed = ([" ".join(text.split()[:1]) for text in lines] for lines in (said, printed))
    for start in range(len(printed) - len(said) + 1):
        if all(map(is_like, said, printed[start:])):
            return
    sys.exit(f"line {line}: expected\n" + "\n".join(said) + "\ngot\n" + "\n".join(printed))


def main():
    document, root, folder = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    out = folder / "out"
    out.mkdir(parents=True)
    place = folder / "root"
    place.mkdir()
    for name in ("examples", "scripts"):
        (place / name).symlink_to(root / name)
    (place / "build/release").mkdir(parents=True)
    (place / "build/release/bin").symlink_to(pathlib.Path(shutil.which("tessera")).parent)
    blocks = blocks_of(document.read_text())
    (folder / "script").write_text(script_of(blocks, out))
    path = os.environ["PATH"] + ":/usr/games"  # where Debian puts `bible`
    status = subprocess.run(["bash", folder / "script"], cwd=place, env={**os.environ, "PATH": path}).returncode
    at = (out / "at").read_text().strip()
    assert status == 0, f"the block at line {at} ended with {status}:\n{(out / (at + '.out')).read_text()}"
    compared, previous = 0, None
    for line, kind, rest, text in blocks:
        own = out / f"{line}.out"
        if (out / f"{line}.failed").exists():
            print(f"line {line}: cannot run here: {own.read_text().splitlines()[-1:]}")
        if kind == "run":
            previous = own
        elif kind == "file":
            assert text == (root / rest).read_text(), f"line {line}: {rest} is another text"
            compared += 1
        elif kind == "output":
            printed = own if rest.startswith("of:") else previous
            if not printed.exists():
                print(f"line {line}: not compared, its commands were skipped")
                continue
            compare(line, text, printed.read_text(), rest == "(loose)")
            compared += 1
    print(f"{document.name}: {compared} blocks as the document shows them")


main()
