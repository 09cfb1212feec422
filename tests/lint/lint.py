#!/usr/bin/env python3
"""Rules about the tree that no compiler checks.

usage: lint.py RULE [ROOT]    prints each breach as PATH:LINE: MESSAGE; exit status 1 if there is one, 77 if it
cannot run

  checks      CHECK lines that FileCheck would not see: no colon, an unknown suffix, a prefix that no RUN line asks for
  anchors     a case with CHECK-NOT lines has a positive CHECK line too, so that it fails on empty output
  test-names  names of GoogleTest suites and tests are spelled LikeThis
  paths       paths that documents name exist
  quotes      code that docs/adding.md quotes is in the sources
  guards      include guards follow the path of their file
  machine     no path of somebody's machine
  columns     no line over 120 columns in sources and scripts, over 160 in Markdown
  phrases     no phrase that docs/glossary.md rejects in documents, comments and messages
  long        a source file of more than 500 lines says why near its top: `Long because: …`
  format      C++ sources are as clang-format 22 leaves them
  class-size  a class of more than 40 methods or 15 fields says why in the comment before it: `Large because: …`
  fields      fields of classes are spelled likeThis
  one-name    no two types of one name at namespace scope in what is installed
  cycles      no folders that include from each other, directly or through others
  pass-docs   every pass in Passes.td has a description
"""

import os
import sys

import checks
import cpp
import documents
from tree import Tree

SKIPPED = 77
RULES = {
    name.removeprefix("rule_").replace("_", "-"): rule
    for module in (checks, cpp, documents)
    for name, rule in vars(module).items()
    if name.startswith("rule_")
}


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
