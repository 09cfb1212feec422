"""Rules about text: documents, comments, messages."""

import glob
import os
import re

from tree import CPP

COLUMNS_OF_CODE = (*CPP, ".td", ".def", ".inc", ".py", ".sh", ".cmake", "CMakeLists.txt", ".js", ".css", ".html")
COLUMNS = {**dict.fromkeys(COLUMNS_OF_CODE, 120), ".md": 160}
GLOSSARY = "docs/glossary.md"


# paths ----------------------------------------------------------------------------------------------------------------


def named_paths(text):
    """(line number, path, whether a link) of all that may be a path in a document: words in code, targets of links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        code = [line] if fenced else re.findall(r"`([^`]+)`", line)
        for words in code:
            yield from ((number, word, False) for word in re.split(r"[\s\"'()=|]+|,(?![^{]*\})", words))
        if not fenced:
            words = re.sub(r"`[^`]+`", "", line)  # `sum[a](x)` is no link
            yield from ((number, target, True) for target in re.findall(r"\]\(([^)\s]+)\)", words))


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


# quotes ---------------------------------------------------------------------------------------------------------------

RECIPES = "docs/adding.md"


def fenced_blocks(text):
    """(line number, text) of each block of code."""
    start, block = None, []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            if start:
                yield start, "\n".join(block)
            start, block = (None, []) if start else (number, [])
        elif start:
            block.append(line)


def rule_quotes(tree):
    if RECIPES not in tree.files:
        return
    sources = [" ".join((tree.text(f) or "").split()) for f in tree.product(*CPP, ".td")]
    for number, block in fenced_blocks(tree.text(RECIPES)):
        words = " ".join(block.split())
        if not any(words in source for source in sources):
            yield RECIPES, number, "no source contains this code"


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


# columns --------------------------------------------------------------------------------------------------------------

EXCUSE = re.compile(r"^\s*<!-- Wide because: \w.* -->\s*$")


def rule_columns(tree):
    """A table in Markdown whose rows cannot be shorter has `<!-- Wide because: … -->` on the line before it."""
    for path in tree.ending(*COLUMNS):
        most = next(columns for suffix, columns in COLUMNS.items() if path.endswith(suffix))
        is_excused = False
        for number, line in tree.lines(path):
            if path.endswith(".md"):
                is_excused = bool(EXCUSE.match(line)) or is_excused and line.startswith("|")
            if len(line) > most and not is_excused:
                yield path, number, f"{len(line)} columns, more than {most}"


# phrases --------------------------------------------------------------------------------------------------------------

MEASURED = "bench/results/"  # files that programs wrote
# Between words: in comments and literals, lines continue.
BREAK = re.compile(r"[ \t]*\"?[ \t]*\n[ \t]*(?:///?|#+|;+|\*|>)?[ \t]*\"?|[ \t]+")


def banned_phrases(tree):
    """Phrase in lower case -> what to write instead, from the table under "Phrases" of the glossary."""
    text = tree.text(GLOSSARY) if GLOSSARY in tree.files else None
    section = re.search(r"^## Phrases$(.*?)(?=^## |\Z)", text or "", re.M | re.S)
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section.group(1), re.M) if section else []
    rows = [row for row in rows if not re.fullmatch(r"[-: ]+|write", row[0])]
    if not rows:
        raise ValueError(f"{GLOSSARY} has no table of phrases")
    return {phrase.strip().lower(): write for write, phrases in rows for phrase in phrases.split(";") if phrase.strip()}


def rule_phrases(tree):
    banned = banned_phrases(tree)
    for path in tree.files:
        if path == GLOSSARY or path.startswith(MEASURED):
            continue
        text = (tree.text(path) or "").lower()
        joined = BREAK.sub(" ", text)
        for phrase in (phrase for phrase in banned if phrase in joined):
            words = f"(?:{BREAK.pattern})".join(map(re.escape, phrase.split()))
            for found in re.finditer(rf"(?<![\w-]){words}(?![\w-])", text):
                line = text.count("\n", 0, found.start()) + 1
                yield path, line, f"`{phrase}`: write {banned[phrase]}"
