#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every Python file parses, and pyflakes finds nothing in it; those that the program embeds, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v pyflakes3 >/dev/null || {
  echo "pyflakes3 is missing (the Python files cannot be checked). Run ./dev setup." >&2
  exit 1
}
find src tests -name '*.py' -print0 | xargs -0 pyflakes3
