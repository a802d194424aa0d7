#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Feeds one_definition.py sources with and without types defined twice."""

import tempfile
import unittest
from pathlib import Path

import one_definition

HEADER = ("namespace voxcycle {\nstruct Range {\n  enum class Kind { a, b };\n};\nstruct Domain::Impl {};\n"
          "}  // namespace voxcycle\n")

# Definitions beside HEADER's that are no second one.
FINE = [
    "namespace voxcycle {\nnamespace {\nstruct Range {};\n}\n}\n",
    "namespace voxcycle {\nstruct Range;\nclass Range* next(struct Range const& range);\n}\n",
    "namespace voxcycle {\nstruct File::Impl {\n  struct Range {};\n};\n}\n",
    "namespace voxcycle::other {\nstruct Range {};\n}\n",
    "namespace voxcycle {\nvoid f() {\n  struct Range {} range;\n}\n}\n",
    "namespace voxcycle {\nstruct Outer {\n  struct Range {};\n  enum Kind { c };\n};\n}\n",
    "namespace voxcycle {\ntemplate <>\nstruct Range<int> {};\ntemplate <class Range> void f() {}\n}\n",
    "namespace voxcycle {\n// struct Range {\n/* struct Range { */\nauto t = R\"x(struct Range {)x\";\n}\n",
    "#define TYPE \\\n  struct Range {}\nnamespace voxcycle {\nint const n = 1'000, c = '{';\n}\n",
]

TWICE = [
    ("namespace voxcycle {\n\nstruct Range {};\n}\n", 3),
    ("namespace voxcycle {\nnamespace {\nint n;\n}\nclass Range final : public Base<int> {};\n}\n", 5),
    ("namespace voxcycle {\nenum class Range : int { a };\n}\n", 2),
    ("namespace voxcycle {\nclass [[nodiscard]] alignas(64) Range\n{\n};\n}\n", 2),
    ("namespace voxcycle {\ninline int f() { return 1; }\ntemplate <class T>\nstruct Range { T t; };\n}\n", 4),
]


class OneDefinition(unittest.TestCase):
    def check(self, second):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in (("include/voxcycle/grid/range.hpp", HEADER), ("src/io/b.cpp", second)):
                (root / name).parent.mkdir(parents=True)
                (root / name).write_text(text)
            return one_definition.check_tree(root)

    def test_other_types_are_fine(self):
        for text in FINE:
            with self.subTest(text=text):
                self.assertEqual(self.check(text), [])

    def test_a_second_definition_is_found(self):
        for text, line in TWICE:
            with self.subTest(text=text):
                found = self.check(text)
                self.assertEqual([(str(path), at) for path, at, _ in found], [("src/io/b.cpp", line)])
                self.assertIn("voxcycle::Range", found[0][2])
                self.assertIn("include/voxcycle/grid/range.hpp", found[0][2])


if __name__ == "__main__":
    unittest.main()
