#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes `import torch` work for computing on CPUs where the wheel's CUDA libraries (GBs) are not
installed: an empty library stands in for each that is missing.

usage: torch_stand_ins.py TORCH_PACKAGE FOLDER     then set LD_LIBRARY_PATH=FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

# Of whom the missing libraries are.
PREFIXES = ("cu", "nccl", "nv", "Cu")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_libraries(torch):
    listed = output("ldd", torch / "lib/libtorch_python.so", torch / "lib/libtorch_cuda.so")
    return sorted(set(re.findall(r"(\S+) => not found", listed)))


def wanted_symbols(torch):
    """@return {version: names}, of what torch's libraries expect of CUDA's; "" for no version."""
    wanted = {}
    for library in sorted((torch / "lib").glob("lib*.so")):
        for line in output("nm", "-D", "--undefined-only", library).splitlines():
            name, _, version = line.split()[-1].partition("@")
            if name.startswith(PREFIXES) and re.fullmatch(r"\w+", name):
                wanted.setdefault(version.strip("@"), set()).add(name)
    return wanted


def make(torch, folder):
    """@return the folder, for LD_LIBRARY_PATH, with nothing in it where nothing is missing"""
    folder.mkdir(parents=True, exist_ok=True)
    missing = missing_libraries(torch)
    if not missing:
        return
    wanted = wanted_symbols(torch)
    everything = sorted(set().union(*wanted.values()))
    (folder / "all.c").write_text("".join(f"void {name}(void) {{}}\n" for name in everything))
    versions = [f"{version} {{ global: {'; '.join(sorted(names))}; }};\n"
                for version, names in wanted.items() if version]
    (folder / "all.map").write_text("".join(versions))
    output("cc", "-w", "-fno-builtin", "-shared", "-fPIC", "-o", folder / "all.so",
           f"-Wl,--version-script={folder / 'all.map'}", folder / "all.c")
    for name in missing:
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to("all.so")


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
