# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# stoppable LAUNCHER ...: its exit status. Ctrl-C asks the ranks to stop with a checkpoint, which a
# launcher that sees it itself would give them a second for; pressed again, it ends them.
stoppable() {
  local status=0 child
  setsid "$@" &
  child=$!
  trap 'kill -USR1 "$child"; trap "kill -TERM $child" INT TERM' INT TERM HUP
  wait "$child" || status=$?
  while kill -0 "$child" 2>/dev/null; do
    status=0
    wait "$child" || status=$?
  done
  exit "$status"
}
