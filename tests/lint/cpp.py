"""Rules about C++ sources. What clang-format left is read by its indentation: no compiler is needed."""

import collections
import dataclasses
import os
import re
import shutil
import subprocess

from tree import CPP, PRODUCT

LONG_LINES = 500
TOP_LINES = 40
MOST_METHODS = 40
MOST_FIELDS = 15


# long -----------------------------------------------------------------------------------------------------------------


def rule_long(tree):
    for path in tree.ending(*CPP, ".td", ".py", ".def", ".inc", ".js"):
        lines = (tree.text(path) or "").splitlines()
        if len(lines) > LONG_LINES and not re.search(r"(//|#) Long because: \w", "\n".join(lines[:TOP_LINES])):
            yield path, 1, f"{len(lines)} lines: split it, or say `Long because: …` in the first {TOP_LINES}"


# guards ---------------------------------------------------------------------------------------------------------------

GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.M)


def rule_guards(tree):
    for path in tree.ending(".h"):
        text = tree.text(path) or ""
        found, expected = GUARD.search(text), "TESSERA_" + re.sub(r"\W", "_", path).upper()
        if found and found.group(1) != expected:
            yield path, text[: found.start()].count("\n") + 1, f"expected the guard {expected}, got {found.group(1)}"


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


# types ----------------------------------------------------------------------------------------------------------------

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
TYPE = r"(?:template <[^;{]*>\s+)?(class|struct|union|enum|enum class|enum struct)\s+(?:alignas\(\w+\) |\[\[\w+\]\] )?"
TYPE += r"(\w+)(?: final)?(?:\s*: [^;{]*|\s*)\{"


@dataclasses.dataclass
class Type:
    kind: str
    name: str
    line: int
    body: str


def code_of(text):
    """The text with comments, directives and what literals hold left out; lines stay where they are."""

    def blank(found):
        kept = '""' if found.group(0).startswith(('"', "R", "'")) else ""
        return kept + "\n" * found.group(0).count("\n")

    return NOT_CODE.sub(blank, text)


def types_of(code, indent=""):
    """The types that are defined at this indentation: at none those of namespaces, further in those of a class."""
    for found in re.finditer("^" + indent + TYPE, code, re.M):
        is_one_line = code[found.end() : found.end() + 1] != "\n"
        close = re.compile(r"\}" if is_one_line else "^" + indent + r"\}", re.M).search(code, found.end())
        line = code.count("\n", 0, found.start(2)) + 1
        yield Type(found.group(1), found.group(2), line, code[found.end() : close.start() if close else len(code)])


def members_of(body, indent):
    """(offset, text) of the declarations in the body of a class, each up to its own body or initialiser."""
    starts = [
        found.start()
        for found in re.finditer("^" + indent + r"(?=[\w~\[])(?!(?:public|private|protected):)", body, re.M)
    ]
    for start, end in zip(starts, [*starts[1:], len(body)]):
        member, *rest = re.split(r"[;{]", body[start:end].strip())
        if rest:  # if not, the declaration goes on in a line of its own: after `template <…>`, after a long type
            yield start, member


def fields_and_methods(body, indent):
    """(offset, declaration) of each field or fields of a class, (offset, None) of each method. A type, an alias, a
    friend and a constant of the class are neither."""
    for offset, member in members_of(body, indent):
        member = re.sub(r"^template <.*?>\s+(?=\w)", "", member, flags=re.S)
        while (shorter := re.sub(r"<[^<>]*>", "", member)) != member:
            member = shorter
        head = member.split("=")[0]
        if re.match(r"(using|typedef|friend|static_assert|class|struct|union|enum)\b", member):
            continue
        if re.search(
            r"\boperator\b|\w\s*\((?!\*)", re.sub(r"\b(alignas|decltype|explicit|noexcept)\([^()]*\)", "", head)
        ):
            yield offset, None
        elif not re.match(r"(inline )?static\b", member) and re.search(r"\w\s+[*&]*\w|[*&>]\w|\(\*", head):
            yield offset, member


def count_members(body, indent):
    """(methods, fields) of a class."""
    methods, fields = 0, 0
    for _, field in fields_and_methods(body, indent):
        if field is None:
            methods += 1
        else:
            fields += len(names_of_fields(field))
    return methods, fields


def names_of_fields(declaration):
    bare = re.sub(r"\(\*\s*(\w+)\)\s*\(.*", r"\1", declaration, flags=re.S)  # a pointer to a function
    bare = re.sub(r"\(.*?\)|\[.*?\]|(?<!:):(?!:)\s*\d+", "", bare, flags=re.S)
    return [re.findall(r"\w+", part.split("=")[0])[-1] for part in bare.split(",")]


def all_types(code, indent=""):
    """(type, the indentation of its members) of every type, those in classes too."""
    for found in types_of(code, indent):
        yield found, indent + "  "
        yield from all_types("\n" * (found.line - 1) + found.body, indent + "  ")


def rule_class_size(tree):
    """What is larger, a builder or a table of functions, has `// Large because: …` in the comment before it."""
    for path in tree.product(*CPP):
        text = tree.text(path) or ""
        lines = text.splitlines()
        for found, indent in all_types(code_of(text)):
            if found.kind.startswith("enum"):
                continue
            methods, fields = count_members(found.body, indent)
            first = found.line - 1
            while first and lines[first - 1].lstrip().startswith(("//", "template")):
                first -= 1
            is_excused = re.search(r"Large because: \w", "\n".join(lines[first : found.line]))
            if (methods > MOST_METHODS or fields > MOST_FIELDS) and not is_excused:
                limits = f"expected at most {MOST_METHODS} and {MOST_FIELDS}"
                yield path, found.line, f"{found.name} has {methods} methods and {fields} fields, {limits}"


def rule_fields(tree):
    for path in tree.product(*CPP):
        for found, indent in all_types(code_of(tree.text(path) or "")):
            if found.kind.startswith("enum"):
                continue
            for offset, declaration in fields_and_methods(found.body, indent):
                for name in names_of_fields(declaration) if declaration else ():
                    if name[0].isupper():
                        line = found.line + found.body.count("\n", 0, offset)
                        yield path, line, f"the field {name} of {found.name}: fields are spelled likeThis"


def rule_one_name(tree):
    """Types in classes and functions, specialisations and declarations without a body are not looked at."""
    places = collections.defaultdict(list)
    for path in tree.product(*CPP):
        for found in types_of(code_of(tree.text(path) or "")):
            places[found.name].append((path, found.line))
    for name, where in sorted(places.items()):
        for path, line in where[1:]:
            yield path, line, f"{name} is also a type in {where[0][0]}:{where[0][1]}"


# cycles ---------------------------------------------------------------------------------------------------------------


def folder_graph(tree):
    """folder -> {folder that it includes from: (path, line) of the first such line}"""
    graph = collections.defaultdict(dict)
    for path in tree.product(*CPP, ".td"):
        folder = os.path.dirname(path)
        for number, line in tree.lines(path):
            found = re.match(r'\s*#?include "([^"]+)"', line)
            if not found or found.group(1).endswith(".inc") or found.group(1).split("/")[0] not in PRODUCT:
                continue
            other = os.path.dirname(found.group(1))
            if other != folder:
                graph[folder].setdefault(other, (path, number))
    return graph


def shortest_path(graph, start, goal):
    """The folders from `start` to `goal`, both included; None if there is no way."""
    came_from, queue = {start: None}, collections.deque([start])
    while queue:
        folder = queue.popleft()
        if folder == goal:
            way = [folder]
            while came_from[way[-1]] is not None:
                way.append(came_from[way[-1]])
            return way[::-1]
        for other in sorted(graph.get(folder, ())):
            if other not in came_from:
                came_from[other] = folder
                queue.append(other)
    return None


def rule_cycles(tree):
    graph = folder_graph(tree)
    reported = set()
    for folder in sorted(graph):
        for other, (path, line) in sorted(graph[folder].items()):
            way = shortest_path(graph, other, folder)
            if way and frozenset(way) not in reported:
                reported.add(frozenset(way))
                yield path, line, "folders include from each other: " + " → ".join([folder, *way])


# pass-docs ------------------------------------------------------------------------------------------------------------

LEAST_WORDS = 20


def rule_pass_docs(tree):
    for path in tree.product("Passes.td"):
        text = tree.text(path) or ""
        passes = list(re.finditer(r"^def (\w+)\s*:\s*\w*Pass<", text, re.M))
        for found, after in zip(passes, [*passes[1:], None]):
            body = text[found.start() : after.start() if after else len(text)]
            description = re.search(r"let description = \[\{(.*?)\}\]", body, re.S)
            words = len(re.findall(r"\w+", description.group(1))) if description else 0
            if words < LEAST_WORDS:
                line = text.count("\n", 0, found.start()) + 1
                yield path, line, f"{found.group(1)}: a description of {words} words, expected at least {LEAST_WORDS}"
