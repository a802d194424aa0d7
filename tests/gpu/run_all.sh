#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that needs a GPU, in one call of at most ten minutes: tests, then benchmarks.
#
# usage: run_all.sh [PROGRAMS [RESULTS.json]]
#
# The results are written after every test and benchmark, should the call be ended before its end.
# PROGRAMS is a build directory (default: build/release) or the bin/ of a bundle. Status: 0 if all
# passed, 1 if something failed, 77 if no GPU can be used (with the reason).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:-$here/../../build/release}
results=${2:-gpu_results.json}
limit=${VOXCYCLE_GPU_TEST_SECONDS:-570} # for all

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
# timed COMMAND...: runs it in what is left of the time, $most seconds at most. Sets status and
# seconds.
most=180
timed() {
  local left=$((limit - SECONDS)) begin=$SECONDS
  status=124 seconds=0
  ((left > 0)) || return 0
  timeout --kill-after=5 $((left < most ? left : most)) "$@"
  status=$? seconds=$((SECONDS - begin))
}

lines=()
while IFS= read -r line; do lines+=("\"$(quote "$line")\""); done <<<"$info"
# write_results FINISHED: what there is so far.
write_results() {
  printf '{"info": [%s],\n"tests": [%s],\n"benches": [%s],\n"seconds": %d, "finished": %s, "passed": %s}\n' \
    "$(join "${lines[@]}")" "$(join "${tests[@]}")" "$(join "${benches[@]}")" "$SECONDS" "$1" \
    "$([[ $failed == 0 && $1 == true ]] && echo true || echo false)" >"$results"
}

tests=() benches=() failed=0
program=$programs/tests/gpu_tests
[[ -x $program ]] || program=$programs/gpu_tests
if ! listed=$("$program" --gtest_list_tests); then
  echo "run_all.sh: $programs has no program gpu_tests that runs (nothing would be tested). Build all targets." >&2
  exit 1
fi
# A suite a process: an error may leave a GPU unusable to the process that met it.
while read -r suite; do
  timed "$program" --gtest_brief=1 --gtest_filter="$suite*"
  case $status in
    0) word=passed ;;
    124 | 137) word='out of time' failed=1 ;;
    *) word=failed failed=1 ;;
  esac
  echo "$suite $word ($seconds s)"
  tests+=("{\"test\": \"${suite%.}\", \"result\": \"$word\", \"seconds\": $seconds}")
  write_results false
done < <(grep -o '^[^ ]*\.' <<<"$listed")
((${#tests[@]})) || {
  echo "run_all.sh: $program lists no tests (nothing would be tested)." >&2
  exit 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# bench NAME OPTION...: one benchmark on the GPU, its line into the results, where only its profile
# failed, too.
bench() {
  rm -f "$scratch/line.json"
  timed "$voxcycle" bench "$@" --run.device cuda --json "$scratch/line.json"
  [[ -s $scratch/line.json ]] && benches+=("$(cat "$scratch/line.json")")
  write_results false
  ((status == 0)) && return
  echo "bench $*: status $status"
  failed=1
}
# check NAME COMMAND...: a command that passes or fails, in the scratch directory.
check() {
  local name=$1
  shift
  timed env -C "$scratch" "$@"
  local word=passed
  ((status == 0)) || word="failed ($status)" failed=1
  echo "$name: $word ($seconds s)"
  tests+=("{\"test\": \"$name\", \"result\": \"$word\", \"seconds\": $seconds}")
  write_results false
}
# The most telling first: if the time should not suffice, it is the rest that is missing.
default=4:64,8:64,16:32,32:16 # smoothing steps alone on finer grids
channels=$default,64:8,128:8,256:8,512:8
for grid in 512 256; do
  bench energy --grid "$grid" --train.precision f32
  for blocks in "$channels" "$default"; do
    bench step --grid "$grid" --batch 1 --no-baseline --train.unit_size 1 \
      --network.channels "$blocks" --profile "$scratch/trace.json"
  done
done
voxcycle=$(readlink -f "$voxcycle")
run=(--run.device cuda --data.directory data --data.train_samples '64, 32'
  --data.held_out_samples 8 --network.channels '4:32, 8:32, 16:16' --cycle.levels '8, 16'
  --cycle.steps '20, 20')
check generate "$voxcycle" generate "${run[@]}"
same_bits='same bits on 1, 2, 3 processes'
if type -P mpirun >/dev/null; then
  # Nine runs, of which all are to compare.
  most=300 check "$same_bits" "$voxcycle" verify "${run[@]}" --ranks 1,2,3 --steps 20 \
    --run.directory verify
else
  echo "$same_bits: skipped, there is no mpirun"
  tests+=("{\"test\": \"$same_bits\", \"result\": \"skipped\", \"seconds\": 0}")
fi
# The network beside multigrid on the same GPU: train for a minute and a half, then solve fields with
# both.
model=(--run.device cuda --run.directory model --data.directory solve --data.on_the_fly yes
  --data.train_samples '2048, 2048, 512, 64, 8' --data.held_out_samples '8, 8, 4, 2, 2'
  --network.channels "$default" --train.unit_size 8 --cycle.levels '16, 32, 64, 128, 256'
  --cycle.seconds '20, 35, 25, 5, 0' --cycle.steps '0, 0, 0, 0, 2' --cycle.batch '8, 8, 8, 2, 1'
  --cycle.rate '0.01, 0.01, 0.01, 2e-3, 3e-4' --cycle.old_level_factor '1, 0.3, 0.3, 0.1, 0.1'
  --cycle.evaluations 1)
check 'generate up to 256^3' "$voxcycle" generate "${model[@]}"
check 'train up to 256^3' "$voxcycle" train "${model[@]}"
field=$(printf '%s\n' "$scratch"/solve/held_out/256x256x256/shard-*.h5 | head -n 1)
check 'solve at 256^3' "$voxcycle" solve --nu "$field:/nu[0]" --model model/checkpoint.h5 --compare \
  --run.device cuda --json solve.json
check 'compare at 256^3' "$voxcycle" evaluate "${model[@]}" --grid 256 --precision bf16 --compare \
  --json compare.json
for figures in solve compare; do
  [[ -s $scratch/$figures.json ]] && benches+=("$(cat "$scratch/$figures.json")")
done

bench step --grid 128 --batch 1 --no-baseline --train.unit_size 1 \
  --network.channels "$channels" --profile "$scratch/trace.json"
# By kind of layer, with reproducible algorithms and with any: what do the same bits cost there?
for reduction in exact fast; do
  bench conv --grid 256 --batch 1 --channels 8 --train.reduction "$reduction"
done
# Small grids start more kernels than they compute: with units of two samples and in one unit.
bench step --grid 32 --batch 16 --reduction exact,fast
bench step --grid 32 --batch 16 --no-baseline --train.unit_size 16
bench step --grid 64 --batch 4 --network.channels "$channels"
bench step --grid 64 --batch 4 --no-baseline --train.unit_size 4 --network.channels "$channels"
for grid in 128 256; do
  bench reference --grid "$grid" --field kl
  bench reference --grid "$grid" --field two-phase
done
for grid in 64 128; do
  bench energy --grid "$grid" --train.precision f32
done
for grid in 64 128 256 512; do
  bench energy --grid "$grid" --train.precision f64
done

write_results true
echo "results: $results ($SECONDS s)"
exit "$failed"
