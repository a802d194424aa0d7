#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes a folder that runs on machines without MPI, HDF5 and the like: the programs, the Debian
# libraries that they need and Open MPI's plugins. torch is not in it: environment.sh finds one there.
#
# usage: make.sh BUILD BUNDLE      (called by ./dev bundle)
set -euo pipefail
build=$(cd "$1" && pwd)
bundle=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$here/../..
limit=60 # MiB

fail() {
  printf 'bundle: %s\n' "$*" >&2
  exit 1
}

[[ -x $build/voxcycle ]] || fail "$build holds no program voxcycle. Type ./dev build."
system_libraries=$(dirname "$(ldd "$build/voxcycle" | awk '$1 ~ /^libmpi\.so/ {print $3}')")
[[ $system_libraries == /* ]] || fail "$build/voxcycle is not linked with a shared Open MPI (libmpi.so)." \
  "Bundles know Open MPI alone."

# A bundle is replaced, nothing else is.
[[ ! -e $bundle || -f $bundle/bundle.txt ]] || fail "$bundle exists and is no bundle, or one that was interrupted. Name another folder, or remove it."
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib"
bundle=$(cd "$bundle" && pwd)

# ---- programs ------------------------------------------------------------------------------------

shopt -s nullglob
cp "$build/voxcycle" "$build/tests/gpu_tests" "$bundle/bin/"
cp -L "$(command -v orterun)" "$bundle/bin/mpirun"
cp -L "$(command -v orted)" "$bundle/bin/"
cp "$source_root/tests/gpu/run_all.sh" "$bundle/bin/"
cp "$here/environment.sh" "$here/stoppable.sh" "$here/orted.sh" "$here/voxcycle" "$here/run_gpu_tests" "$bundle/"
cp -r "$source_root/configs" "$source_root/LICENSE" "$bundle/"

# ---- Open MPI's plugins --------------------------------------------------------------------------

# With OPAL_PREFIX=bundle Open MPI looks below the path that Debian gave it.
mpi_plugins=$(ompi_info --parsable --path pkglibdir | sed -n 's/^path:pkglibdir://p')
mpi_help=$(ompi_info --parsable --path pkgdatadir | sed -n 's/^path:pkgdatadir://p')
[[ $mpi_plugins == /usr/* && $mpi_help == /usr/* ]] || fail "Open MPI lies in $mpi_plugins, not below /usr."
mkdir -p "$bundle/${mpi_plugins#/usr/}" "$bundle/${mpi_help#/usr/}"
cp "$mpi_help"/*.txt "$bundle/${mpi_help#/usr/}/"
for plugin in "$mpi_plugins"/mca_*.so; do
  case ${plugin##*/} in
    # Fabrics with user-space drivers of their own, OpenSHMEM, tracing: large, and not for one host.
    *_ofi.so | *_ucx.so | *_openib.so | *_psm*.so | *_usnic.so | mca_btl_uct.so) ;;
    *_monitoring.so | *_pmix_flux.so | *_schizo_flux.so | *_simulator.so) ;;
    mca_spml_* | mca_scoll_* | mca_sshmem_* | mca_memheap_* | mca_atomic_*) ;;
    *) cp "$plugin" "$bundle/${mpi_plugins#/usr/}/" ;;
  esac
done

# PMIx, which starts processes, has most of its plugins built in.
mkdir "$bundle/lib/pmix"
pmix=$(ldd "$mpi_plugins/mca_pmix_ext3x.so" | awk '$1 ~ /^libpmix\.so/ {print $3}')
cp "$(dirname "$(readlink -f "$pmix")")"/pmix/pmix_mca_*.so "$bundle/lib/pmix/"

# ---- libraries -----------------------------------------------------------------------------------

# The C library and the loader belong to the system; torch's directory is the user's.
of_the_system='^(ld-linux.*|linux-vdso|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec))\.so'
{
  for file in "$bundle"/bin/* "$bundle"/lib/pmix/*.so "$bundle/${mpi_plugins#/usr/}"/*.so; do
    ldd "$file" 2>/dev/null | awk '$2 == "=>" {print $1, $3}' || true
  done
} | sort -u | while read -r name path; do
  [[ $path == /* ]] || fail "$name was not found on this machine."
  [[ ! $name =~ $of_the_system && $path =~ ^(/usr)?/lib ]] || continue
  cp -L "$path" "$bundle/lib/$name"
done
chmod -R u+w "$bundle"
for file in "$bundle"/bin/* "$bundle"/lib/*.so* "$bundle"/lib/pmix/*.so "$bundle/${mpi_plugins#/usr/}"/*.so; do
  [[ $file == *.sh ]] || strip --strip-unneeded "$file"
done

# ---- what it needs -------------------------------------------------------------------------------

# objdump's status tells that some of the files are scripts.
glibc=$({ find "$bundle/bin" "$bundle/lib" -type f -exec objdump -T {} + 2>/dev/null || true; } |
  grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
{
  echo "program $("$build/voxcycle" info | sed -n 's/^voxcycle *//p')"
  echo "glibc ${glibc#GLIBC_}"
  echo "torch $("$build/voxcycle" info | sed -n 's/^torch *\([0-9.]*\)$/\1/p')"
} >"$bundle/bundle.txt"

size=$(du -sm "$bundle" | cut -f1)
((size < limit)) || fail "$bundle takes $size MiB, not less than $limit. du -a $bundle | sort -n tells why."
printf '== bundle: %s, %d MiB, for glibc %s and newer, torch %s of any Python\n' "$bundle" "$size" \
  "${glibc#GLIBC_}" "$(sed -n 's/^torch //p' "$bundle/bundle.txt")"
