#!/usr/bin/env python3
"""Each rule of lint.py finds what it is for, and only that. Every case is a small tree in a temporary folder."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint  # noqa: E402


class LintTest(unittest.TestCase):
    def breaches(self, rule, files):
        """(path, line) of each breach in a tree made of `files` (path -> text)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w") as out:
                    out.write(text)
            return [(path, line) for path, line, _ in lint.RULES[rule](lint.Tree(root))]

    def dead_lines(self, text):
        return [line for _, line in self.breaches("checks", {"tests/ir/a.mlir": text})]

    def test_live_checks_pass(self):
        self.assertEqual(self.dead_lines("// RUN: tessera-opt %s | FileCheck %s\n"
                                         "// CHECK: a\n// CHECK-NEXT: b\n// CHECK-COUNT-2: c\n"
                                         "// CHECK-SAME{LITERAL}: [[d\n// A sentence. What is checked: all.\n"), [])  # fmt: skip

    def test_dead_checks_are_found(self):
        self.assertEqual(self.dead_lines("// RUN: tessera-opt %s | FileCheck %s\n"
                                         "// CHECK a\n// CHECK-NXT: b\n// CHECK_NEXT: c\n// CHECK-NEXT d\n"
                                         "// CHECK-COUNT: e\n//CHECK -DAG: f\n"), [2, 3, 4, 5, 6, 7])  # fmt: skip

    def test_prefix_that_no_run_line_asks_for(self):
        run = "# RUN: tessera check %s | FileCheck %s --check-prefix=WIDE\n"
        self.assertEqual(self.dead_lines(run + "# WIDE: a\n# CHECK: b\n# WIDE-NOT c\n"), [3, 4])

    def test_both_prefixes_of_two_run_lines(self):
        run = "// RUN: a %s | FileCheck %s\n// RUN: b %s | \\\n// RUN:   FileCheck %s --check-prefixes=X,Y\n"
        self.assertEqual(self.dead_lines(run + "// CHECK: a\n// X: b\n// Y-DAG: c\n"), [])

    def test_run_without_a_colon(self):
        self.assertEqual(self.dead_lines("// RUN tessera-opt %s\n"), [1])

    def test_only_tests_are_read(self):
        self.assertEqual(self.breaches("checks", {"docs/a.mlir": "// CHECK a\n"}), [])

    def test_missing_paths(self):
        text = "`ir/Tsr.h` and `ir/Gone.h` and [x](../ir/Tsr.h) and [y](gone.md)\n```\nscripts/gone.sh -x\n```\n"
        tree = {"docs/a.md": text, "ir/Tsr.h": "", "scripts/test.sh": ""}
        self.assertEqual(self.breaches("paths", tree), [("docs/a.md", 1), ("docs/a.md", 1), ("docs/a.md", 3)])

    def test_paths_with_patterns_places_and_placeholders(self):
        text = "`ir/*.h`, `ir/{Tsr,Type}.h`, `ir/Tsr.h:12`, `ir/`, `and/or`, `ir/NAME.h`; [z](https://x.org/ir/no)\n"
        self.assertEqual(self.breaches("paths", {"docs/a.md": text, "ir/Tsr.h": ""}), [])
        self.assertEqual(self.breaches("paths", {"docs/a.md": "`ir/*.cpp`", "ir/Tsr.h": ""}), [("docs/a.md", 1)])

    def test_machine_paths(self):
        # Put together here, so that this file does not break the rule.
        private = "/" + "home/someone/x"
        self.assertEqual(self.breaches("machine", {"a.md": f"ok\n`{private}`\n"}), [("a.md", 2)])
        self.assertEqual(self.breaches("machine", {"a.md": "/usr/bin/x, https://a.org/home/x, a /b, x/home/y\n"}), [])

    def test_long_files(self):
        lines = "int x;\n" * 501
        self.assertEqual(self.breaches("long", {"a.cpp": lines}), [("a.cpp", 1)])
        self.assertEqual(self.breaches("long", {"a.cpp": "// Long because: a table\n" + lines}), [])
        self.assertEqual(self.breaches("long", {"a.cpp": "int x;\n" * 500}), [])

    def test_format(self):
        if not lint.shutil.which("clang-format-22"):
            self.skipTest("clang-format-22 is not installed")
        self.assertEqual(self.breaches("format", {"a.cpp": "int  x;\n", "b.cpp": "int x;\n"}), [("a.cpp", 1)])


if __name__ == "__main__":
    unittest.main()
