# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the launchers of a bundle: finds torch and says where libraries and plugins are.
#
#   VOXCYCLE_TORCH_WHEEL  the torch package to use (.../site-packages/torch); default: python3's
bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

bundle_fail() {
  printf 'voxcycle: %s\n' "$*" >&2
  exit 1
}

needs() { sed -n "s/^$1 //p" "$bundle/bundle.txt"; }

# older A B: whether version A is older than B.
older() { [[ $1 != "$2" && $(printf '%s\n' "$1" "$2" | sort -V | head -1) == "$1" ]]; }

glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
if [[ -n $glibc ]] && older "$glibc" "$(needs glibc)"; then
  bundle_fail "the C library here is $glibc, the bundle needs $(needs glibc) (it was made on a newer" \
    "system). Make the bundle on a system as old as this one, or run it in a container."
fi

torch=${VOXCYCLE_TORCH_WHEEL:-}
if [[ -z $torch ]]; then
  torch=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' \
    2>/dev/null || true)
  [[ -n $torch ]] || bundle_fail "python3 has no torch (the bundle brings none). Install torch" \
    "$(needs torch), or set VOXCYCLE_TORCH_WHEEL=.../site-packages/torch."
fi
[[ -f $torch/version.py && -f $torch/lib/libtorch_cpu.so ]] ||
  bundle_fail "$torch is no torch package (version.py and lib/libtorch_cpu.so are not there). Set" \
    "VOXCYCLE_TORCH_WHEEL=.../site-packages/torch."
version=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$torch/version.py")
[[ $version == "$(needs torch)" ]] ||
  bundle_fail "$torch is torch $version, the bundle was built with $(needs torch) (their C++ libraries" \
    "do not fit). Install torch $(needs torch), or set VOXCYCLE_TORCH_WHEEL to one."

export LD_LIBRARY_PATH=$bundle/lib:$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$bundle/bin:$PATH
# Open MPI, PMIx and hwloc look for plugins and settings here first.
export OPAL_PREFIX=$bundle OPAL_SYSCONFDIR=$bundle/etc HWLOC_PLUGINS_PATH=$bundle/etc
export PMIX_LIBDIR=$bundle/lib
# Without ssh Open MPI starts processes on this machine alone, if told so.
if ! type -P ssh >/dev/null && ! type -P rsh >/dev/null; then export OMPI_MCA_plm=${OMPI_MCA_plm:-isolated}; fi
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
