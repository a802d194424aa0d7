#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that needs a GPU, in one call of at most ten minutes: tests, then benchmarks.
#
# usage: run_all.sh [PROGRAMS [RESULTS.json]]
#
# PROGRAMS is a build directory (default: build/release) or the bin/ of a bundle. Status: 0 if all
# passed, 1 if something failed, 77 if no GPU can be used (with the reason).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:-$here/../../build/release}
results=${2:-gpu_results.json}
limit=570 # seconds for all

voxcycle=$programs/voxcycle
if [[ ! -x $voxcycle ]]; then
  echo "run_all.sh: $programs has no program voxcycle (nothing can be tested). Build it, or name another directory." >&2
  exit 1
fi
if ! info=$("$voxcycle" info); then
  echo "run_all.sh: voxcycle info failed." >&2
  exit 1
fi
use=$(sed -n 's/^GPU use *//p' <<<"$info")
if [[ $use != ready ]]; then
  echo "run_all.sh: skipped: $use"
  exit 77
fi
printf '%s\n' "$info"

quote() { sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/ /g' <<<"$1"; }
join() {
  local IFS=,
  echo "$*"
}
# timed COMMAND...: runs it in what is left of the time. Sets status and seconds.
timed() {
  local left=$((limit - SECONDS)) begin=$SECONDS
  status=124 seconds=0
  ((left > 0)) || return 0
  timeout --kill-after=5 $((left < 180 ? left : 180)) "$@"
  status=$? seconds=$((SECONDS - begin))
}

tests=() benches=() failed=0
shopt -s nullglob
for program in "$programs"/tests/gpu_* "$programs"/gpu_*; do
  [[ -x $program && -f $program ]] || continue
  name=${program##*/}
  timed "$program" --gtest_brief=1
  case $status in
    0) word=passed ;;
    77) word=skipped ;;
    124 | 137) word='out of time' failed=1 ;;
    *) word=failed failed=1 ;;
  esac
  echo "$name: $word ($seconds s)"
  tests+=("{\"test\": \"$name\", \"result\": \"$word\", \"seconds\": $seconds}")
done
((${#tests[@]})) || {
  echo "run_all.sh: $programs has no gpu_* tests (nothing would be tested). Build all targets." >&2
  exit 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for precision in f32 f64; do
  for grid in 64 128 256 512; do
    timed "$voxcycle" bench energy --device cuda --grid "$grid" --train.precision "$precision" \
      --json "$scratch/line.json"
    if ((status == 0)); then
      benches+=("$(cat "$scratch/line.json")")
    else
      echo "bench energy $grid $precision: status $status"
      failed=1
    fi
  done
done

lines=()
while IFS= read -r line; do lines+=("\"$(quote "$line")\""); done <<<"$info"
printf '{"info": [%s],\n"tests": [%s],\n"benches": [%s],\n"seconds": %d, "passed": %s}\n' \
  "$(join "${lines[@]}")" "$(join "${tests[@]}")" "$(join "${benches[@]}")" "$SECONDS" \
  "$([[ $failed == 0 ]] && echo true || echo false)" >"$results"
echo "results: $results ($SECONDS s)"
exit "$failed"
