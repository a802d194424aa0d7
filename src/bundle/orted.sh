#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI's daemon on the other machines of a run; slurm/cloud/start.sh names it to mpirun.
set -euo pipefail
# shellcheck source=src/bundle/environment.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
exec "$bundle/bin/orted" "$@"
