#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whether Slurm takes the batch scripts; skipped (77) where there is no Slurm to ask.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v sbatch >/dev/null || ! timeout 20 sinfo >/dev/null 2>&1; then
  echo "no Slurm here: the options of slurm/*.sbatch are not checked"
  exit 77
fi
failed=0
for script in slurm/*.sbatch; do
  sbatch --test-only "$script" configs/ablation.cfg || failed=1
done
exit "$failed"
