#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v shellcheck >/dev/null || {
  echo "shellcheck is missing (the scripts cannot be checked). Run ./dev setup." >&2
  exit 1
}
shopt -s nullglob
find slur[m] src tests -name '*.sh' -o -name '*.sbatch' | sort |
  xargs shellcheck dev .ci/run src/bundle/voxcycle src/bundle/run_gpu_tests
