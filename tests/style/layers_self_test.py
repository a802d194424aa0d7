#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Feeds layers.py small trees, with one violation each and with none."""

import tempfile
import unittest
from pathlib import Path

import layers

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
CLEAN = {
    "include/voxcycle/core/error.hpp": SPDX + "#include <string>\n",
    "include/voxcycle/grid/grid3.hpp": SPDX + '#include "voxcycle/core/error.hpp"\n',
    "include/voxcycle/io/shard.hpp": SPDX + '#include "voxcycle/grid/grid3.hpp"\n',
    "include/voxcycle/poisson/energy.hpp": SPDX + "#include <ATen/core/Tensor.h>\n",
    "include/voxcycle/network/unet.hpp": SPDX + "#include <torch/nn/module.h>\n",
    "src/comm/mpi_communicator.cpp": SPDX + "#include <mpi.h>\n",
    "src/core/device/cuda.cpp": SPDX + "#include <cuda_runtime_api.h>\n",
    "src/core/torch_device/a.cpp": SPDX + "#include <ATen/ATen.h>\n#include <c10/core/Stream.h>\n",
    "src/io/handle.hpp": SPDX + "#include <hdf5.h>\n",
    "src/io/shard.cpp": SPDX + '#include "handle.hpp"\n#include <zlib.h>\n',
    "src/poisson/kernels/rows.cpp": SPDX + '#include "poisson/kernels/rows.hpp"\n',
    "src/poisson/kernels/rows.hpp": SPDX,
    "src/train/step.cpp": SPDX + "#include <torch/csrc/autograd/autograd.h>\n",
    "src/main.cpp": SPDX + '#include "voxcycle/core/error.hpp"\n',
    "include/voxcycle/solver/solver.hpp": SPDX + '#include "voxcycle/grid/grid3.hpp"\n',
    "cycles/half_v.cpp": SPDX + '#include "voxcycle/grid/grid3.hpp"\n',
    "tests/unit/io/shard_test.cpp": SPDX + "#include <gtest/gtest.h>\n",
    "tests/unit/cycle/half_v_test.cpp": SPDX,
    "tests/style/a.py": "#!/usr/bin/env python3\n# SPDX-License-Identifier: BSD-3-Clause\n",
}

# (file, its content, line of the violation, words of its text)
BROKEN = [
    ("src/grid/a.cpp", SPDX + '#include "voxcycle/io/shard.hpp"\n', 2, "of io"),
    ("src/poisson/a.cpp", SPDX + '#include "voxcycle/solver/solver.hpp"\n', 2, "of solver"),
    ("include/voxcycle/other.hpp", SPDX, 1, "no module"),
    ("cycles/a.cpp", SPDX + '\n#include "voxcycle/io/shard.hpp"\n', 3, "cycle includes"),
    ("include/voxcycle/core/a.hpp", SPDX + '#include "voxcycle/grid/grid3.hpp"\n', 2, "nothing"),
    ("src/core/a.cpp", SPDX + '#include "voxcycle/core/gone.hpp"\n', 2, "does not exist"),
    ("src/core/a.cpp", SPDX + '#include "gone.hpp"\n', 2, "neither beside"),
    ("src/dataset/a.cpp", SPDX + '#include "io/handle.hpp"\n', 2, "internal to io"),
    ("src/dataset/a.cpp", SPDX + '#include "../io/handle.hpp"\n', 2, "internal to io"),
    ("include/voxcycle/io/a.hpp", SPDX + '#include "io/handle.hpp"\n', 2, "public header"),
    ("src/core/a.cpp", SPDX + "#include <voxcycle/core/error.hpp>\n", 2, "is ours"),
    ("src/train/a.cpp", SPDX + "#include <mpi.h>\n", 2, "belongs to: comm"),
    ("src/train/a.cpp", SPDX + "#  include <nccl.h>\n", 2, "belongs to: comm"),
    ("include/voxcycle/comm/a.hpp", SPDX + "#include <mpi.h>\n", 2, "public header"),
    ("src/solver/a.cpp", SPDX + "#include <hdf5.h>\n", 2, "belongs to: io"),
    ("src/core/a.cpp", SPDX + "#include <zlib.h>\n", 2, "belongs to: io"),
    ("src/evaluate/a.cpp", SPDX + "#include <png.h>\n", 2, "belongs to: io"),
    ("src/field/a.cpp", SPDX + "#include <fftw3.h>\n", 2, "belongs to: solver"),
    ("src/dataset/a.cpp", SPDX + "#include <boost/random/sobol.hpp>\n", 2, "belongs to: field"),
    ("src/train/a.cpp", SPDX + "#include <boost/program_options.hpp>\n", 2, "belongs to: cli"),
    ("src/cli/a.cpp", SPDX + "#include <boost/algorithm/string.hpp>\n", 2, "no module"),
    ("src/cli/a.cpp", SPDX + "#include <spdlog/spdlog.h>\n", 2, "belongs to: core"),
    ("src/train/a.cpp", SPDX + "#include <cuda_runtime.h>\n", 2, "belongs to: core"),
    ("src/poisson/kernels/a.cu", SPDX + "#include <cuda_runtime.h>\n", 2, "belongs to: core"),
    ("src/core/device/a.cpp", SPDX + "#include <ATen/ATen.h>\n", 2, "in core"),
    ("tests/gpu/io/gone_test.cpp", SPDX, 1, "tests nothing"),
    ("src/optim/a.cpp", SPDX + "#include <torch/nn/module.h>\n", 2, "belongs to: network"),
    ("src/network/a.cpp", SPDX + "#include <torch/torch.h>\n", 2, "belongs to:"),
    ("include/voxcycle/network/a.hpp", SPDX + "#include <ATen/ATen.h>\n", 2, "public header"),
    ("include/voxcycle/poisson/a.hpp", SPDX + "#include <ATen/ATen.h>\n", 2, "public header"),
    ("src/io/a.cpp", SPDX + "#include <ATen/core/Tensor.h>\n", 2, "in io"),
    ("src/core/a.cpp", SPDX + "#include <gtest/gtest.h>\n", 2, "no module"),
    ("src/core/a.cpp", "// words\n" + SPDX, 1, "SPDX"),
    ("src/core/a.cpp", "", 1, "SPDX"),
    ("tests/style/b.sh", "#!/bin/sh\necho\n", 2, "SPDX"),
    ("src/core/a.cpp", SPDX + "\n" * 400, 401, "401 lines"),
    ("src/odd/a.cpp", SPDX, 1, "no module of the table"),
    ("tests/unit/io/gone_test.cpp", SPDX, 1, "tests nothing"),
    ("tests/mpi/comm/gone_test.cpp", SPDX, 1, "tests nothing"),
]


def violations(files):
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return [(p.as_posix(), line, text) for p, line, text in layers.check_tree(Path(directory))]


class LayersTest(unittest.TestCase):
    def test_a_clean_tree_passes(self):
        self.assertEqual(violations(CLEAN), [])

    def test_each_violation_is_found_alone(self):
        for name, content, line, words in BROKEN:
            with self.subTest(name=name, content=content[:100]):
                found = violations(CLEAN | {name: content})
                self.assertEqual([(p, n) for p, n, _ in found], [(name, line)])
                self.assertIn(words, found[0][2])

    def test_the_table_has_no_circles(self):
        order = list(layers.ALLOWED)
        for module, others in layers.ALLOWED.items():
            for other in others - {module}:
                self.assertLess(order.index(other), order.index(module))

    def test_an_empty_root_is_an_error(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(layers.main(["layers.py", directory]), 2)


if __name__ == "__main__":
    unittest.main()
