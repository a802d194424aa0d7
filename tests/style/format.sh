#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every C++ file is exactly as clang-format leaves it. To repair: clang-format -i FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v clang-format >/dev/null || {
  echo "clang-format is missing (the formatting cannot be checked). Run ./dev setup." >&2
  exit 1
}
shopt -s nullglob
find include src cycle[s] tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | sort |
  xargs -r clang-format --dry-run -Werror
