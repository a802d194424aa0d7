#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cmake --install into an empty directory, then a project of a user's own (tests/install) that finds
it with find_package, links against it and runs."""

import re
import shutil
import subprocess
from pathlib import Path

import harness

EXAMPLE = Path(__file__).resolve().parent.parent / "install"


def cached(build, name):
    """The value of a variable in CMake's cache."""
    text = (build / "CMakeCache.txt").read_text()
    return re.search(rf"^{name}(:\w+)?=(.*)$", text, re.M)[2]


class Install(harness.Case):
    def call(self, *command):
        result = subprocess.run(list(map(str, command)), cwd=self.scratch, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:])
        return result.stdout

    def test_example_links_and_runs(self):
        build = Path(harness.BINARY).resolve().parent
        cmake = cached(build, "CMAKE_COMMAND")
        generator = cached(build, "CMAKE_GENERATOR")
        prefix = self.scratch / "prefix"
        self.call(cmake, "--install", build, "--prefix", prefix)
        self.assertIn("torch", self.call(prefix / "bin/voxcycle", "info"))

        headers = {str(path.relative_to(prefix / "include")) for path in (prefix / "include").rglob("*.hpp")}
        self.assertIn("voxcycle/solver/solver.hpp", headers)
        for header in headers:  # they include each other alone
            text = (prefix / "include" / header).read_text()
            self.assertLessEqual(set(re.findall(r'#include "(.*)"', text)), headers, header)

        shutil.copytree(EXAMPLE, self.scratch / "example")
        self.call(cmake, "-S", "example", "-B", "out", "-G", generator,
                  f"-DCMAKE_PREFIX_PATH={prefix}",
                  f"-DCMAKE_CXX_COMPILER={cached(build, 'CMAKE_CXX_COMPILER')}")
        self.call(cmake, "--build", "out")
        words = self.call("out/example").split()
        figures = dict(zip(words[::2], map(float, words[1::2])))
        self.assertEqual(figures["converged"], 1)
        # Layers of 3 and 1: resistances 1/6 and 1/2 in a row, 2/3 in all.
        self.assertAlmostEqual(figures["flow"], 1.5, delta=1e-6)
        self.assertAlmostEqual(figures["middle"], 0.75, delta=1e-6)


if __name__ == "__main__":
    harness.main()
