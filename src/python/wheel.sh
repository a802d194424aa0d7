#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Packs what the target voxcycle_python made as a wheel.
#   wheel.sh PYTHON FOLDER DESTINATION     PYTHON has the package `wheel`
set -euo pipefail
"$1" -m wheel pack "$2" --dest-dir "$3"
