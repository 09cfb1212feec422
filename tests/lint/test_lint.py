#!/usr/bin/env python3
"""Each rule of lint.py finds what it is for, and only that. Every case is a small tree in a temporary folder."""

import os
import shutil
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
                                         "// CHECK-SAME{LITERAL}: [[d\n"
                                         "// A sentence. What is checked: all.\n"), [])  # fmt: skip

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

    def bare_nots(self, text):
        run = "// RUN: tessera-opt %s | FileCheck %s\n"
        return [line for _, line in self.breaches("anchors", {"tests/ir/a.mlir": run + text})]

    def test_a_case_of_nots_alone(self):
        self.assertEqual(self.bare_nots("// CHECK-NOT: a\n// CHECK-NOT: b\n"), [2])
        self.assertEqual(self.bare_nots("// CHECK-LABEL: @f\n// CHECK-NOT: a\n// CHECK-LABEL: @g\n// CHECK: b\n"), [3])
        self.assertEqual(self.bare_nots("// CHECK: a\n// -----\n// CHECK-NOT: b\n"), [4])

    def test_a_positive_line_of_the_same_prefix_and_case_is_an_anchor(self):
        self.assertEqual(self.bare_nots("// CHECK-LABEL: @f\n// CHECK-NOT: a\n// CHECK-NEXT: b\n"), [])
        run = "# RUN: a %s | FileCheck %s --check-prefixes=X,Y\n"
        self.assertEqual(
            self.breaches("anchors", {"tests/a.test": run + "# X: a\n# Y-NOT: b\n"}), [("tests/a.test", 3)]
        )

    def test_names_of_tests(self):
        text = "TEST(Lexer, ReadsF32) {}\nTEST_F(Lexer, readsNames) {}\nTEST(a_b, C) {}\nTEST(A, B_c) {}\n"
        self.assertEqual(self.breaches("test-names", {"tests/A.cpp": text}), [("tests/A.cpp", n) for n in (2, 3, 4)])

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

    def test_wide_lines(self):
        self.assertEqual(self.breaches("columns", {"a.cpp": "/" * 121 + "\n" + "/" * 120 + "\n"}), [("a.cpp", 1)])
        files = {path: "#" * 121 for path in ("a.py", "a.sh", "a.td", "a.cmake", "ir/CMakeLists.txt", "a.md", "a.mlir")}
        self.assertEqual(len(self.breaches("columns", files)), 5)
        self.assertEqual(self.breaches("columns", {"a.md": "ü" * 160 + "\n" + "ü" * 161}), [("a.md", 2)])

    def test_wide_tables_that_say_why(self):
        row = "|" + "-" * 160 + "\n"
        text = "<!-- Wide because: a row holds a whole command. -->\n" + row + row + "\n" + row
        self.assertEqual(self.breaches("columns", {"a.md": text}), [("a.md", 5)])

    def test_phrases(self):
        table = "| write | not |\n| --- | --- |\n| gadget | thing of sorts; gizmo |\n"
        glossary = f"# Glossary\n\n## Phrases\n\n{table}\n## More\n"
        files = {
            "docs/glossary.md": glossary,
            "docs/a.md": "A Thing of\nsorts. Gizmos.\n",
            "a.cpp": 'x; // a thing\n  // of sorts, a gizmo\nprint("a thing of "\n      "sorts");\n',
        }
        self.assertEqual(self.breaches("phrases", files), [("a.cpp", 1), ("a.cpp", 3), ("a.cpp", 2), ("docs/a.md", 1)])

    def test_phrases_without_a_glossary(self):
        with self.assertRaises(ValueError):
            self.breaches("phrases", {"docs/a.md": ""})

    def large(self, body, before=""):
        return self.breaches(
            "class-size", {"ir/A.h": f"namespace a {{\n{before}class A : public B {{\npublic:\n{body}}};\n}}\n"}
        )

    def test_large_classes(self):
        methods = "".join(f"  int f{i}(std::map<int, int> x = {{}}) const {{\n    return 1;\n  }}\n" for i in range(40))
        fields = "".join(f"  std::function<void(int, int)> x{i} = [] {{ f(); }};\n" for i in range(15))
        self.assertEqual(self.large(methods + fields), [])
        self.assertEqual(self.large("  A() : x{1} {}\n" + methods), [("ir/A.h", 2)])
        self.assertEqual(
            self.large("  template <typename T>\n  bool operator==(T) const;\n" + methods), [("ir/A.h", 2)]
        )
        self.assertEqual(self.large(fields + "  int x;\n"), [("ir/A.h", 2)])
        self.assertEqual(self.large("  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;\n"), [("ir/A.h", 2)])

    def test_what_is_no_member(self):
        fields = "".join(f"  int x{i};\n" for i in range(15))
        self.assertEqual(
            self.large(fields + "  static constexpr int y = 1;\n  using T = int;\n  friend class C;\n"), []
        )
        self.assertEqual(self.large(fields + "  struct Inner {\n    int x;\n  };\n  // int y;\n  enum { a, b };\n"), [])

    def test_large_classes_in_classes_and_with_a_reason(self):
        fields = "".join(f"    int x{i};\n" for i in range(16))
        self.assertEqual(self.large("  struct Inner {\n" + fields + "  };\n"), [("ir/A.h", 4)])
        self.assertEqual(self.large("  // Large because: a table.\n  struct Inner {\n" + fields + "  };\n"), [])
        self.assertEqual(self.large(fields.replace("    ", "  "), "/// Words.\n/// Large because: a builder.\n"), [])

    def fields(self, body):
        """Lines of a class that begins in line 1 of its file."""
        return [line for _, line in self.breaches("fields", {"ir/A.h": "struct A {\n" + body + "};\n"})]

    def test_names_of_fields(self):
        self.assertEqual(self.fields("  int a;\n  Type B;\n  std::map<X, Y> C = {};\n  int d, E{1};\n"), [3, 4, 5])
        self.assertEqual(self.fields("  int *A;\n  X (*B)(int, Y);\n  int C[Size];\n  unsigned D : 3;\n"), [2, 3, 4, 5])
        initialised = "  unsigned a = f(b, c), B = 0;\n  std::function<X()> C = [](int d, int e) { f(); };\n"
        self.assertEqual(self.fields(initialised), [2, 3])
        self.assertEqual(self.fields("  struct Inner {\n    int A;\n  };\n"), [3])

    def test_what_is_no_field(self):
        text = "  static constexpr int Most = 1;\n  enum Kind { A, B };\n  enum class X {\n    C,\n  };\n  class Y;\n"
        self.assertEqual(self.fields(text), [])
        self.assertEqual(self.fields("  A(int B) : b(B) {\n    int C;\n  }\n  using T = X;\n  X (*b)(Y Z);\n"), [])
        self.assertEqual(self.fields("  virtual Type<X>\n  find(int a);\n  template <typename T>\n  T g();\n"), [])
        self.assertEqual(self.breaches("fields", {"tests/A.h": "struct A {\n  int B;\n};\n"}), [])

    def test_two_types_of_one_name(self):
        files = {"ir/A.h": "namespace a {\nclass X {\n};\n}\n", "passes/B.cpp": "namespace {\nenum class X { y };\n}\n"}
        self.assertEqual(self.breaches("one-name", files), [("passes/B.cpp", 2)])

    def test_what_is_not_a_second_type(self):
        files = {
            "ir/A.h": "class X;\nclass X {\n  struct Y {\n  };\n};\nstruct Y {\n};\n",
            "ir/B.h": "class X;\nX f(class X *);\n// class X {\ntemplate <>\nstruct Y<int> {\n};\n",
            "ir/C.h": 'auto s = R"(\nclass X {\n)";\n',
            "tests/C.cpp": "class X {\n};\n",
        }
        self.assertEqual(self.breaches("one-name", files), [])

    def test_cycles_of_folders(self):
        files = {
            "ir/a/A.h": '#include "ir/b/B.h"\n',
            "ir/b/B.cpp": '#include "ir/b/B.h"\n#include "passes/C.h"\n',
            "passes/C.h": '\n#include "ir/a/A.h"\n#include "runtime/Abi.h"\n#include "passes/Passes.h.inc"\n',
            "runtime/Abi.h": "#include <vector>\n",
        }
        self.assertEqual(self.breaches("cycles", files), [("ir/a/A.h", 1)])
        files["passes/C.h"] = '#include "runtime/Abi.h"\n'
        self.assertEqual(self.breaches("cycles", files), [])

    def test_passes_without_a_description(self):
        words = "word " * 20
        text = (
            f'def One : Pass<"one"> {{\n  let description = [{{ {words} }}];\n}}\n'
            'def Two : Pass<"two"> {\n  let summary = "";\n}\n'
            'def Three : TsrPass<"three"> {\n  let description = [{ few words }];\n}\n'
        )
        self.assertEqual(
            self.breaches("pass-docs", {"passes/Passes.td": text}), [("passes/Passes.td", 4), ("passes/Passes.td", 7)]
        )

    def test_quotes(self):
        files = {
            "docs/adding.md": "```\nint x =\n    1;\n```\ntext\n```cpp\nint y;\n```\n",
            "ir/A.cpp": "static int x = 1;\n",
        }
        self.assertEqual(self.breaches("quotes", files), [("docs/adding.md", 6)])

    def test_guards(self):
        files = {
            "ir/a/B.h": "// B\n\n#ifndef TESSERA_IR_A_B_H\n#define TESSERA_IR_A_B_H\n#endif\n",
            "ir/C.h": "// C\n#ifndef TESSERA_C_H\n#define TESSERA_C_H\n#endif\n",
            "ir/D.h": "#pragma once\n",
        }
        self.assertEqual(self.breaches("guards", files), [("ir/C.h", 2)])

    def test_format(self):
        if not shutil.which("clang-format-22"):
            self.skipTest("clang-format-22 is not installed")
        self.assertEqual(self.breaches("format", {"a.cpp": "int  x;\n", "b.cpp": "int x;\n"}), [("a.cpp", 1)])


if __name__ == "__main__":
    unittest.main()
