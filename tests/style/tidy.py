#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy over the sources of some modules.

usage: tidy.py BUILD_DIRECTORY MODULE...      (`all`: every module)

BUILD_DIRECTORY holds compile_commands.json of a configured build. GCC's precompiled header, which
clang cannot read, is taken out of the commands first.
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def module_of(source):
    """@return the module of a source file, or None if it is not one of ours."""
    try:
        parts = source.resolve().relative_to(ROOT).parts
    except ValueError:
        return None
    if parts[0] == "cycles":
        return "cycle"
    if parts == ("src", "main.cpp"):
        return "cli"
    return parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] != "cmake" else None


def without_precompiled_header(command):
    kept, words = [], command.split()
    for word in words:
        if word.endswith("cmake_pch.hxx") and kept and kept[-1] == "-include":
            kept.pop()
        elif word not in ("-fpch-preprocess", "-Winvalid-pch"):
            kept.append(word)
    return " ".join(kept)


def tidy(tool, database, source):
    done = subprocess.run([tool, "--quiet", "-p", database,
                           "--extra-arg=-Wno-unknown-warning-option", source], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        print(f"{source}:\n{done.stdout}{done.stderr}", flush=True)
    return done.returncode == 0


def main(arguments):
    if len(arguments) < 3:
        print("usage: tidy.py BUILD_DIRECTORY MODULE...", file=sys.stderr)
        return 2
    build, modules = Path(arguments[1]), set(arguments[2:])
    tool = shutil.which("clang-tidy")
    if not tool:
        print("clang-tidy is missing (the sources cannot be analysed). Run ./dev setup.",
              file=sys.stderr)
        return 1
    commands = {}  # one a file: kernels are compiled several times
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        module = module_of(Path(entry["file"]))
        if module and (module in modules or "all" in modules):
            entry["command"] = without_precompiled_header(entry["command"])
            commands[entry["file"]] = entry
    if not commands:
        print(f"tidy.py: {build} compiles nothing of {modules}.", file=sys.stderr)
        return 1
    database = build / "tidy"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(list(commands.values())),
                                                    encoding="utf-8")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        good = list(pool.map(lambda source: tidy(tool, database, source), sorted(commands)))
    print(f"clang-tidy: {sum(good)} of {len(good)} files are clean.")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
