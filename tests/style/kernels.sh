#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# kernels.sh OBJECT...: what is compiled for one instruction set shows the linker its table and nothing
# else. Of an inline function or a template that several objects hold the linker keeps any one: the
# program would run AVX-512 code on a processor without it.
set -euo pipefail
[ $# -gt 0 ] || {
  echo "kernels.sh: no object was named (nothing would be checked)." >&2
  exit 1
}
status=0
for object; do
  # DW.ref.*: the address of the exception handler, no code.
  names=$(nm --demangle --defined-only --extern-only "$object" | cut -d' ' -f2- | grep -v ' DW\.ref\.' || true)
  if [[ ! $names =~ ^T\ voxcycle::[a-z_]+::(avx2|avx512)::table\(\)$ ]]; then
    printf '%s shows more, or less, than its table():\n%s\n' "$object" "$names" >&2
    status=1
  fi
done
exit "$status"
