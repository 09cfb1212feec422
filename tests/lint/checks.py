"""Rules about the tests that FileCheck reads."""

import re

COMMENT = re.compile(r"^\s*(?://+|#+|;+)\s*(.*)$")
SUFFIX = r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-[1-9][0-9]*))?(?:\{LITERAL\})?:"


def check_prefixes(text):
    """The prefixes that the file's RUN lines give to FileCheck."""
    asked = re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", text)
    prefixes = {name for names in asked for name in names.split(",")}
    for line in re.findall(r"RUN:(.*)", re.sub(r"\\\n\s*(?://+|#+|;+)?\s*(?:RUN:)?", " ", text)):
        if any("FileCheck" in stage and "check-prefix" not in stage for stage in line.split("|")):
            prefixes.add("CHECK")
    return prefixes


def check_files(tree):
    return [path for path in tree.ending(".mlir", ".tsr", ".test", ".td") if path.startswith("tests/")]


def rule_checks(tree):
    for path in check_files(tree):
        prefixes = check_prefixes(tree.text(path) or "")
        seen = [re.compile(re.escape(prefix) + SUFFIX) for prefix in prefixes]
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


def rule_anchors(tree):
    """A case reaches from one label or `-----` to the next. A label shows that the case exists, not what is in it."""
    for path in check_files(tree):
        text = tree.text(path) or ""
        for prefix in sorted(check_prefixes(text)):
            directive = re.compile(r"(?:^|\W)" + re.escape(prefix) + r"(-[A-Z]+(?:-\d+)?)?(?:\{LITERAL\})?:")
            first, is_anchored = 0, False  # the case's first -NOT line, and whether a positive line stands in it
            for number, line in [*tree.lines(path), (0, "-----")]:
                found = directive.search(line)
                kind = found.group(1) if found else None
                if kind == "-LABEL" or re.match(r"\W*-----\W*$", line):
                    if first and not is_anchored:
                        yield path, first, f"only `{prefix}-NOT` in this case: it also passes where there is no output"
                    first, is_anchored = 0, False
                elif kind == "-NOT":
                    first = first or number
                elif found:
                    is_anchored = True


def rule_test_names(tree):
    for path in tree.ending(".cpp"):
        for number, line in tree.lines(path) if path.startswith("tests/") else ():
            found = re.match(r"(?:TYPED_)?TEST(?:_F|_P)?\((\w+), (\w+)\)", line)
            for name in found.groups() if found else ():
                if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
                    yield path, number, f"`{name}`: test suites and tests are spelled LikeThis"
