# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# stoppable LAUNCHER ...: its exit status. Ctrl-C (or TERM, HUP, USR1) asks the ranks to stop with a
# checkpoint, for which a launcher that sees Ctrl-C itself would give them a second; pressed again, it
# ends them. If this shell is killed they are asked, too.
stoppable() {
  local status=0 child orphan=()
  command -v setpriv >/dev/null && orphan=(setpriv --pdeathsig USR1)
  setsid "${orphan[@]}" "$@" &
  child=$!
  trap 'kill -USR1 "$child"; trap "kill -TERM $child" INT TERM' INT TERM HUP USR1
  wait "$child" || status=$?
  while kill -0 "$child" 2>/dev/null; do
    status=0
    wait "$child" || status=$?
  done
  exit "$status"
}
