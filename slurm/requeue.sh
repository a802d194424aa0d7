#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the batch scripts share. Slurm sends them USR1 a minute before the time limit
# (--signal=B:USR1@60); voxcycle then stops with a checkpoint and the job goes back into the queue,
# where it goes on from there. So does a job that is preempted with a grace time. Without one, or after
# a node failure (--requeue), it goes on from the last checkpoint, at most train.checkpoint_seconds
# and a step old.

# SITE: what the program was built with, where that has to be loaded.
# module load gcc openmpi hdf5
# SITE: the network between nodes, where MPI or NCCL would take another.
# export OMPI_MCA_btl_tcp_if_include=ib0 NCCL_SOCKET_IFNAME=ib0

voxcycle=${VOXCYCLE:-build/release/voxcycle}
# How processes are started; mpirun works, too: VOXCYCLE_LAUNCHER=mpirun
read -ra launcher <<<"${VOXCYCLE_LAUNCHER:-srun --mpi=pmix}"

export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
# Ranks hold several threads each, and a waiting rank gives its core to the others.
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
# srun no longer takes this from sbatch by itself. mpirun starts its daemons by srun, one a node, and
# those must have all of the node's cores.
if [[ ${launcher[0]} == srun ]]; then export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}; fi

# Of a task of an array its own: by the array's number all tasks would be stopped and started anew.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID:-}}
job=${job:-${SLURM_JOB_ID:-}}

readonly stopped=75 # voxcycle's exit status when it stopped with a checkpoint
# Ended by USR1, before it could answer: nothing was gained, and would not be the next time.
readonly too_early=$((128 + 10))

# Whether Slurm is taking the job's place for another. Its first notice goes to the program alone.
# Old versions keep the time of a preemption before this start.
preempted() {
  local shown since start=' StartTime=([0-9][^ ]*)' notice='PreemptTime=([0-9][^ ]*)'
  shown=$(SLURM_TIME_FORMAT=standard scontrol show job "$job" 2>/dev/null)
  [[ $shown =~ $start ]] || return
  since=${BASH_REMATCH[1]}
  [[ $shown =~ $notice && ! ${BASH_REMATCH[1]} < $since ]]
}

# run_or_requeue COMMAND ...: the command's exit status, unless it was asked to stop and did, or was
# ended before it could.
run_or_requeue() {
  local status=0 asked=no child guard orphan=()
  if [[ -z $job ]]; then
    echo "$0 works inside a job. Submit it: sbatch $0 CONFIG" >&2
    return 2
  fi
  command -v setpriv >/dev/null && orphan=(setpriv --pdeathsig USR1) # it ends with this shell
  trap 'asked=yes' USR1 # the child does not run yet
  "${orphan[@]}" "$@" &
  child=$!
  # A job that its time limit ends does not come back by itself.
  trap 'asked=yes; kill -USR1 "$child"; (sleep 45; scontrol requeue "$job") & guard=$!' USR1
  [[ $asked == no ]] || kill -USR1 $$
  # A trapped signal ends wait early.
  wait "$child" || status=$?
  while kill -0 "$child" 2>/dev/null; do
    status=0
    wait "$child" || status=$?
  done
  trap - USR1
  [[ -z ${guard:-} ]] || kill "$guard" 2>/dev/null || true
  ((status != 0)) || return 0
  if [[ $asked == yes ]] && ((status == stopped || (status > 128 && status != too_early))); then
    echo "time is up: job $job goes back into the queue"
  elif preempted; then
    echo "preempted: job $job goes back into the queue"
  else
    return "$status"
  fi
  scontrol requeue "$job"
  return 0
}

# The program by itself, and on all processes of the job.
alone() { run_or_requeue "$voxcycle" "$@"; }
on_all_processes() { run_or_requeue "${launcher[@]}" "$voxcycle" "$@"; }
