// SPDX-License-Identifier: BSD-3-Clause
// Reads the kept inputs, tests/fuzz/corpus/<reader>/*, with every ./dev test.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "readers.hpp"

int main(int, char** argv) {
  int inputs = 0;
  for (auto const& [name, reader] : voxcycle::fuzz::readers()) {
    for (auto const& entry :
         std::filesystem::directory_iterator(std::string(argv[1]) + "/" + name)) {
      std::ifstream in(entry.path(), std::ios::binary);
      voxcycle::fuzz::try_to_read(reader, std::string(std::istreambuf_iterator<char>(in), {}));
      ++inputs;
    }
  }
  std::printf("%d inputs read\n", inputs);
  return inputs > 0 ? 0 : 1;
}
