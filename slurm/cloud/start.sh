#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs voxcycle on machines that ssh reaches, from a directory that all of them see:
#   slurm/cloud/start.sh HOSTS train --config configs/demo.cfg [--section.key VALUE ...]
# HOSTS is a file of mpirun's: a line for each machine, its name or address and slots=N, the number of
# its processes. A notice that one of them is taken away stops the training with a checkpoint. The same
# command goes on from there.
#   VOXCYCLE   the program, with the same path on every machine; default: build/release/voxcycle
# Status 75: stopped, or a machine is not there (yet); to be started again.
set -euo pipefail
readonly again=75 # also voxcycle's, when it stopped with a checkpoint
trap 'exit $again' USR1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=src/bundle/stoppable.sh
. "$here/../../src/bundle/stoppable.sh"

fail() {
  printf 'start: %s\n' "$*" >&2
  exit 1
}

(($# >= 2)) || fail "usage: start.sh HOSTS COMMAND [ARGUMENT ...], e.g. hosts.txt train --config configs/demo.cfg"
list=$1
shift
[[ -r $list ]] || fail "$list cannot be read. Write a line for each machine: NAME slots=PROCESSES"
mapfile -t hosts < <(sed 's/#.*//' "$list" | awk 'NF {print $1}')
((${#hosts[@]} > 0)) || fail "$list names no machine. Write a line for each: NAME slots=PROCESSES"
voxcycle=$(realpath -s "${VOXCYCLE:-build/release/voxcycle}")
[[ -x $voxcycle ]] || fail "$voxcycle is no program. Build it, or name it: VOXCYCLE=.../voxcycle"

# The directory into which several machines write. The program knows what a config and options make it,
# and names what is wrong with them.
section=run
if [[ $1 == generate ]]; then section=data; fi
config=$("$voxcycle" "$@" --dump-config)
shared=$(sed -n "/^\[$section\]/,/^\[/s/^directory = //p" <<<"$config")

work=$(mktemp -d)
mark=$shared/.seen-by-all.$$
watchers=()
# shellcheck disable=SC2317 # the trap calls it
finish() {
  local status=$? watcher host
  trap - USR1
  for watcher in "${watchers[@]}"; do kill -- "-$watcher" 2>/dev/null || true; done
  # Asked to stop before it listened.
  if ((status == 128 + $(kill -l USR1))); then status=$again; fi
  if ((status != 0 && status != again && ${#watchers[@]} > 0)); then
    for host in "${hosts[@]}"; do
      on "$host"
      [[ $("${on[@]}" "$identity" 2>/dev/null) != "$(sed -n 2p "$work/$host")" ]] || continue
      echo "start: $host was lost; the same command goes on from the last checkpoint" >&2
      status=$again
    done
  fi
  rm -rf "$work" "$mark"
  exit "$status"
}
trap finish EXIT

# ---- the machines --------------------------------------------------------------------------------

# on HOST: makes `on` the command that runs a line of shell there. This machine needs no ssh.
on() {
  local address
  address=$(getent ahostsv4 "$1" | awk 'NR == 1 {print $1}') || true # a name of ssh's own
  on=(ssh -o BatchMode=yes -o ConnectTimeout=10 "$1")
  if [[ $address == 127.* || " $(hostname -I)" == *" $address "* ]]; then on=(bash -c); fi
}

# ask HOST: writes its clock, identity, build and whether it sees the mark; and between which times.
ask() {
  local status=0 before=$EPOCHSECONDS
  on "$1"
  "${on[@]}" "$question" >"$work/$1" 2>"$work/$1.error" </dev/null || status=$?
  echo "$status $before $EPOCHSECONDS" >"$work/$1.asked"
}

worst=0
# problem STATUS TEXT: goes on, so that all are named.
problem() {
  printf 'start: %s\n' "$2" >&2
  if ((worst != 1)); then worst=$1; fi
}

check() {
  local host=$1 status before after clock machine build seen said
  read -r status before after <"$work/$host.asked"
  said=$(tail -n 1 "$work/$host.error" | tr -d '\r' | sed 's/\.$//')
  if ((status == 255)); then
    problem "$again" "$host cannot be reached (${said:-ssh says nothing}). Check that it runs, its name, its host key and your key there: ssh $host true"
    return
  elif ((status != 0)); then
    problem 1 "$host cannot run voxcycle ($said). Each machine needs the directory $PWD and the program $voxcycle."
    return
  fi
  { read -r clock && read -r machine && read -r build && read -r seen; } <"$work/$host"
  if ((clock < before - clocks_apart || clock > after + clocks_apart)); then
    problem "$again" "the clock of $host is $((clock - after)) s from this machine's (logs and files of the run would contradict each other). Set it, e.g. timedatectl set-ntp true"
  fi
  if [[ -n ${names[$machine]:-} ]]; then
    problem 1 "$host and ${names[$machine]} are one machine. Name it once, with all its slots."
  fi
  names[$machine]=$host
  first=${first:-$build}
  if [[ $build != "$first" ]]; then
    problem 1 "$host has another build ($build) than ${hosts[0]} ($first). Copy one to all."
  fi
  if [[ $seen != seen ]]; then
    problem "$again" "$host does not see $shared of this machine. Mount one file system there on all, or name another directory: --$section.directory"
  fi
}

readonly clocks_apart=5
duplicates=$(printf '%s\n' "${hosts[@]}" | sort | uniq -d | paste -sd ' ')
[[ -z $duplicates ]] || fail "$list names twice: $duplicates. Name a machine once, with all its slots."
# Machines made from one image have distinct boots; those that are containers, distinct names.
# shellcheck disable=SC2016
identity='echo "$(hostname) $(cat /proc/sys/kernel/random/boot_id)"'
question=$(printf 'cd %q && date +%%s && %s && %q --version && if test -e %q; then echo seen; else echo unseen; fi' \
  "$PWD" "$identity" "$voxcycle" "$mark")
mkdir -p "$shared"
touch "$mark"
for host in "${hosts[@]}"; do ask "$host" & done
wait
declare -A names=()
for host in "${hosts[@]}"; do check "$host"; done
((worst == 0)) || exit "$worst"
rm "$mark"

# ---- the run -------------------------------------------------------------------------------------

options=()
if [[ -f ${voxcycle%/*}/bundle.txt ]]; then
  # shellcheck source=src/bundle/environment.sh
  . "${voxcycle%/*}/environment.sh"
  [[ $bundle != *' '* ]] || fail "MPI starts no daemons from a path with a blank: $bundle. Move the bundle."
  # The libraries of the bundle are not ssh's.
  options+=(--mca plm_rsh_agent "env -u LD_LIBRARY_PATH ssh" --mca orte_launch_agent "$bundle/orted.sh")
fi
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# Ranks hold several threads each, and a waiting rank gives its core to the others.
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
# Only this machine needs keys for the others.
export OMPI_MCA_plm_rsh_no_tree_spawn=1
# Every machine with Docker has this interface, and none reaches another by it.
export OMPI_MCA_btl_tcp_if_exclude=${OMPI_MCA_btl_tcp_if_exclude-127.0.0.1/8,docker0}
export OMPI_MCA_oob_tcp_if_exclude=${OMPI_MCA_oob_tcp_if_exclude-docker0}
# A machine that falls silent is given up after a minute, not after eight.
export OMPI_MCA_oob_tcp_keepalive_time=30 OMPI_MCA_oob_tcp_keepalive_intvl=10 OMPI_MCA_oob_tcp_keepalive_probes=3
if [[ -n ${OMP_NUM_THREADS:-} ]]; then options+=(-x OMP_NUM_THREADS); fi

# A watcher's standard input ends with this script, however that ends.
mkfifo "$work/hold"
exec {hold}<>"$work/hold"
watch() {
  on "$1"
  if "${on[@]}" "$(<"$here/notice.sh")" <"$work/hold" {hold}>&-; then
    echo "start: $1 is being taken away" >&2
    kill -USR1 $$
  fi
}
set -m # Ctrl-C and the end of this script are no affair of theirs
for host in "${hosts[@]}"; do
  watch "$host" &
  watchers+=($!)
done
set +m
stoppable mpirun --hostfile "$list" "${options[@]}" "$voxcycle" "$@"
