#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that needs a GPU, in one call of at most ten minutes: tests and benchmarks.
#
# usage: run_all.sh [PROGRAMS [RESULTS.json [PART...]]]
#
# PROGRAMS is a build directory (default: build/release) or the bin/ of a bundle. PARTs, in this
# order: kernels (tests of each), steps (kernels and training steps at 512^3 and 256^3), bits (the
# same on 1, 2, 3 processes), graphs (steps and cycles with one launch each), solve (the network beside
# multigrid), trainings and convolutions
# (tests), rest (smaller benchmarks). The results are written after every test and benchmark, should
# the call be ended before its end, and all that was printed is in RESULTS.log; what there was no time
# for is named as that, and another call may name its PARTs. Status: 0 if all passed, 1 if something
# failed or was not started, 77 if no GPU can be used (with the reason).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:-$here/../../build/release}
results=${2:-gpu_results.json}
limit=${VOXCYCLE_GPU_TEST_SECONDS:-570} # for all
parts=("${@:3}")
all_parts=(kernels steps bits graphs solve trainings convolutions rest)
((${#parts[@]})) || parts=("${all_parts[@]}")
for part in "${parts[@]}"; do
  [[ " ${all_parts[*]} " == *" $part "* ]] && continue
  echo "run_all.sh: there is no part '$part'. Name some of: ${all_parts[*]}." >&2
  exit 1
done

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
quote() { sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/ /g' <<<"$1"; }
join() {
  local IFS=,
  echo "$*"
}
all_started=yes
# timed COMMAND...: runs it in what is left of the time, $most seconds at most. Sets word, seconds.
most=180
timed() {
  local left=$((limit - SECONDS)) begin=$SECONDS status
  word='not started' seconds=0
  if ((left <= 0)); then
    all_started=
  else
    timeout --kill-after=5 $((left < most ? left : most)) "$@"
    status=$? seconds=$((SECONDS - begin))
    case $status in
      0) word=passed ;;
      124 | 137) word='out of time' ;;
      *) word="failed ($status)" ;;
    esac
  fi
  [[ $word == passed ]] || failed=1
}

lines=()
while IFS= read -r line; do lines+=("\"$(quote "$line")\""); done <<<"$info"
# write_results FINISHED: what there is so far. Finished is true if nothing is left to do.
write_results() {
  printf '{"info": [%s],\n"tests": [%s],\n"benches": [%s],\n"seconds": %d, "finished": %s, "passed": %s}\n' \
    "$(join "${lines[@]}")" "$(join "${tests[@]}")" "$(join "${benches[@]}")" "$SECONDS" "$1" \
    "$([[ $failed == 0 && $1 == true ]] && echo true || echo false)" >"$results"
}
# add_test NAME: its word and seconds into the results.
add_test() {
  echo "$1: $word ($seconds s)"
  tests+=("{\"test\": \"$1\", \"result\": \"$word\", \"seconds\": $seconds}")
  write_results false
}

tests=() benches=() failed=0
program=$programs/tests/gpu_tests
[[ -x $program ]] || program=$programs/gpu_tests
if ! listed=$("$program" --gtest_list_tests); then
  echo "run_all.sh: $programs has no program gpu_tests that runs (nothing would be tested). Build all targets." >&2
  exit 1
fi
mapfile -t suites < <(grep -o '^[^ ]*\.' <<<"$listed")
((${#suites[@]})) || {
  echo "run_all.sh: $program lists no tests (nothing would be tested)." >&2
  exit 1
}
exec > >(tee "${results%.json}.log") 2>&1
log=$!
printf '%s\n' "$info"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export VOXCYCLE_TEST_SCRATCH=$scratch/tests # where the build's may not be written
long='TrainerOnGpu|ConvolutionsOnGpu'
# test_suites REGEX yes|no: those that match or do not, a suite a process: an error may leave a GPU
# unusable to the process that met it.
test_suites() {
  local suite matches
  for suite in "${suites[@]}"; do
    if [[ $suite =~ $1 ]]; then matches=yes; else matches=no; fi
    [[ $matches == "$2" ]] || continue
    timed "$program" --gtest_brief=1 --gtest_filter="$suite*"
    add_test "${suite%.}"
  done
}
# bench NAME OPTION...: one benchmark on the GPU, its line into the results, where only its profile
# failed, too.
bench() {
  rm -f "$scratch/line.json"
  timed "$voxcycle" bench "$@" --run.device cuda --json "$scratch/line.json"
  if [[ -s $scratch/line.json ]]; then
    benches+=("$(cat "$scratch/line.json")")
  else
    benches+=("{\"bench\": \"$(quote "$*")\", \"result\": \"$word\", \"seconds\": $seconds}")
  fi
  [[ $word == passed ]] || echo "bench $*: $word"
  write_results false
}
# check NAME COMMAND...: a command that passes or fails, in the scratch directory.
check() {
  local name=$1
  shift
  timed env -C "$scratch" "$@"
  add_test "$name"
}
voxcycle=$(readlink -f "$voxcycle")
default=4:64,8:64,16:32,32:16 # smoothing steps alone on finer grids
channels=$default,64:8,128:8,256:8,512:8

part_steps() {
  local grid blocks
  for grid in 512 256; do
    bench energy --grid "$grid" --train.precision f32
    for blocks in "$channels" "$default"; do
      bench step --grid "$grid" --batch 1 --no-baseline --train.micro_batch_size 1 \
        --network.channels "$blocks" --profile "$scratch/trace.json"
    done
  done
}

part_bits() {
  local run=(--run.device cuda --data.directory data --data.train_samples '64, 32'
    --data.held_out_samples 8 --network.channels '4:32, 8:32, 16:16' --cycle.levels '8, 16'
    --cycle.steps '20, 20')
  check generate "$voxcycle" generate "${run[@]}"
  local name='same bits on 1, 2, 3 processes'
  if type -P mpirun >/dev/null; then
    # Nine runs, of which all are to compare.
    most=300 check "$name" "$voxcycle" verify "${run[@]}" --ranks 1,2,3 --steps 20 \
      --run.directory verify
  else
    word='skipped, there is no mpirun' seconds=0
    add_test "$name"
  fi
}

# Coarse steps of a U-Net and F-cycles, launch by launch and as a graph, and the step in PyTorch.
part_graphs() {
  local grid graph
  for grid in 16 32 64; do
    for graph in no yes; do
      bench step --grid "$grid" --batch 8 --no-baseline --train.micro_batch_size 8 --run.graph "$graph" \
        --network.name unet --network.depth 4 --network.smoothing 0 --train.loss energy_normalised
    done
  done
  bench reference --grid 128 --field kl
  local script=$here/../compare/unet_step_in_pytorch.py
  [[ ! -x $script ]] || check 'the step in PyTorch' "$script"
}

# The network beside multigrid on the same GPU: train for a minute and a half, then solve fields with
# both.
part_solve() {
  local model=(--run.device cuda --run.directory model --data.directory solve --data.on_the_fly yes
    --data.train_samples '2048, 2048, 512, 64, 8' --data.held_out_samples '8, 8, 4, 2, 2'
    --network.channels "$default" --train.micro_batch_size 8 --cycle.levels '16, 32, 64, 128, 256'
    --cycle.seconds '20, 35, 25, 5, 0' --cycle.steps '0, 0, 0, 0, 2' --cycle.batch '8, 8, 8, 2, 1'
    --cycle.rate '0.01, 0.01, 0.01, 2e-3, 3e-4' --cycle.old_level_factor '1, 0.3, 0.3, 0.1, 0.1'
    --cycle.evaluations 1)
  check 'generate up to 256^3' "$voxcycle" generate "${model[@]}"
  check 'train up to 256^3' "$voxcycle" train "${model[@]}"
  local field figures
  field=$(printf '%s\n' "$scratch"/solve/held_out/256x256x256/shard-*.h5 | head -n 1)
  check 'solve at 256^3' "$voxcycle" solve --nu "$field:/nu[0]" --model model/checkpoint.h5 \
    --compare --run.device cuda --json solve.json
  check 'compare at 256^3' "$voxcycle" evaluate "${model[@]}" --grid 256 --precision bf16 --compare \
    --json compare.json
  for figures in solve compare; do
    [[ -s $scratch/$figures.json ]] && benches+=("$(cat "$scratch/$figures.json")")
  done
  write_results false
}

part_rest() {
  local grid reduction
  bench step --grid 128 --batch 1 --no-baseline --train.micro_batch_size 1 \
    --network.channels "$channels" --profile "$scratch/trace.json"
  # By kind of layer, with reproducible algorithms and with any: what do the same bits cost there?
  for reduction in exact fast; do
    bench conv --grid 256 --batch 1 --channels 8 --train.reduction "$reduction"
  done
  # float16, of which older GPUs know no other 16 bits.
  bench step --grid 128 --batch 1 --no-baseline --train.micro_batch_size 1 \
    --network.channels "$channels" --train.precision f16
  # Small grids start more kernels than they compute: with units of two samples and in one unit.
  bench step --grid 32 --batch 16 --reduction exact,fast
  bench step --grid 32 --batch 16 --no-baseline --train.micro_batch_size 16
  bench step --grid 64 --batch 4 --network.channels "$channels"
  bench step --grid 64 --batch 4 --no-baseline --train.micro_batch_size 4 --network.channels "$channels"
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
}

# The most telling first: if the time should not suffice, it is the rest that is missing.
for part in "${all_parts[@]}"; do
  [[ " ${parts[*]} " == *" $part "* ]] || continue
  case $part in
    kernels) test_suites "$long" no ;;
    trainings) test_suites TrainerOnGpu yes ;;
    convolutions) test_suites ConvolutionsOnGpu yes ;;
    steps) part_steps ;;
    bits) part_bits ;;
    graphs) part_graphs ;;
    solve) part_solve ;;
    rest) part_rest ;;
  esac
done

write_results "$([[ $all_started ]] && echo true || echo false)"
echo "results: $results ($SECONDS s)"
exec >&- 2>&-
wait "$log"
exit "$failed"
