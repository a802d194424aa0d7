#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the include graph: who may include whom, and who owns which third-party library.

usage: layers.py PROJECT_ROOT

Prints each violation as `file:line: text` and exits with 1 if there is any. Also holds every file
to its SPDX first line and to 400 lines, and every test to a source file of the same name.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

# module: the modules that it may include, besides itself
ALLOWED = {
    "core": "",
    "grid": "core",
    "field": "core grid",
    "io": "core grid",
    "report": "core io",
    "comm": "core grid",
    "poisson": "core grid comm",
    "network": "core grid field comm poisson",
    "solver": "core grid field io comm poisson network",
    "dataset": "core grid field io comm poisson solver",
    "optim": "core comm",
    "cycle": "core grid",
    "train": "core grid field io comm poisson network solver dataset optim cycle",
    "evaluate": "core grid field io comm poisson network solver dataset optim cycle train report",
    "config": "core grid field io comm poisson network solver dataset optim cycle train evaluate",
    "study": "core grid field io comm poisson network solver dataset optim cycle train evaluate report config",
    "bench": "core grid field io comm poisson network solver dataset optim cycle train evaluate report config study",
    "python": "core grid field io comm poisson network solver dataset optim cycle train evaluate config",
    "cli": "core grid field io comm poisson network solver dataset optim cycle train evaluate report config study bench",
}
ALLOWED = {module: set(others.split()) | {module} for module, others in ALLOWED.items()}

NO_TORCH = {"core", "grid", "field", "io", "report", "cycle"}
TENSOR_MODULES = set(ALLOWED) - NO_TORCH


@dataclass(frozen=True)
class Vendor:
    pattern: str  # of the included path
    modules: frozenset  # whose sources may include it
    header_modules: frozenset = frozenset()  # whose public headers may, too


def vendor(pattern, modules, header_modules=""):
    modules = TENSOR_MODULES if modules == "tensors" else modules.split()
    public = TENSOR_MODULES if header_modules == "tensors" else header_modules.split()
    return Vendor(pattern, frozenset(modules), frozenset(public))


# Thread pools, streams and CUDA libraries are torch's: the directories of core that may see ATen
# (see src/CMakeLists.txt).
CORE_WITH_TORCH = ("src/core/threads/", "src/core/torch_device/")

# The first pattern that matches decides.
VENDORS = [
    vendor(r"mpi(-ext)?\.h", "comm"),
    vendor(r"nccl\.h", "comm"),
    vendor(r"(hdf5(_hl)?|H5\w+)\.h", "io"),
    vendor(r"png\.h", "io"),
    vendor(r"tiffio\.h", "io"),
    vendor(r"zlib\.h", "io"),
    vendor(r"fftw3.*\.h", "solver"),
    vendor(r"boost/random(/.*|\.hpp)", "field"),
    vendor(r"muParser\.h", "field"),
    vendor(r"boost/program_options(/.*|\.hpp)", "config cli"),
    vendor(r"nlohmann/json\.hpp", "core", "core"),
    vendor(r"boost/version\.hpp", "cli"),
    vendor(r"boost/.*", ""),
    vendor(r"(spdlog|fmt)/.*", "core"),
    # Kernels (*.cu) of all modules launch through core/device_block.cuh.
    vendor(r"(cuda|cublas|cudnn|cufft|cub/|thrust/).*", "core"),
    # Several seconds a file, and nobody needs all of it.
    vendor(r"torch/(torch|nn)\.h", ""),
    vendor(r"torch/nn/.*", "network", "network"),
    vendor(r"torch/version\.h", "cli"),
    vendor(r"torch/(csrc/jit/.*|script\.h)", "network train evaluate python"),
    vendor(r"torch/csrc/autograd/profiler_kineto\.h", "bench"),
    vendor(r"torch/(csrc/autograd/.*|autograd\.h)", "poisson comm network optim train evaluate python",
           "network"),
    vendor(r"torch/.*", "network", "network"),
    vendor(r"(ATen/core|c10)/.*", "tensors", "tensors"),
    vendor(r"ATen/.*", "tensors"),
    vendor(r"nanobind/.*", "python"),
    vendor(r"(gtest|gmock)/.*", ""),
]

CODE = {".hpp", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".sbatch"}
MOST_LINES = 400
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    """@return the module of a file given relative to the root, or None if it has none."""
    parts = path.parts
    if parts[0] == "cycles":
        return "cycle"
    if path.as_posix() == "src/main.cpp":
        return "cli"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "voxcycle") and len(parts) > 3:
        return parts[2]
    return None


def check_own_include(root, path, module, target):
    """@return the text of a violation by an include in quotes, or None."""
    if target.startswith("voxcycle/"):
        other = module_of(Path("include") / target)
        if not (root / "include" / target).is_file():
            return f'"{target}" does not exist below include/.'
    else:  # internal header: beside the file, or named from src/
        beside = (root / path).parent / target
        found = beside if beside.is_file() else root / "src" / target
        if not found.is_file():
            return f'"{target}" is neither beside this file nor below src/.'
        other = module_of(found.resolve().relative_to(root.resolve()))
        if other != module:
            return f'"{target}" is internal to {other}. Include a public header of it.'
        if path.parts[0] == "include":
            return f'a public header includes the internal "{target}".'
    if other not in ALLOWED[module]:
        may = ", ".join(sorted(ALLOWED[module] - {module})) or "nothing"
        return f'{module} includes "{target}" of {other}. It may include: {may}.'
    return None


def check_vendor_include(path, module, target):
    """@return the text of a violation by an include in angle brackets, or None."""
    for entry in VENDORS:
        if not re.fullmatch(entry.pattern, target):
            continue
        if path.as_posix().startswith(CORE_WITH_TORCH) and target.startswith(("ATen/", "c10/")):
            return None
        if module not in entry.modules:
            owners = ", ".join(sorted(entry.modules)) or "no module"
            return f"<{target}> in {module}; it belongs to: {owners}."
        if path.parts[0] == "include" and module not in entry.header_modules:
            return f"<{target}> in a public header. Move it to a .cpp file, or forward-declare."
        return None
    return None


def check_layers(root, path, lines):
    module = module_of(path)
    if module not in ALLOWED:
        yield 1, f"belongs to no module of the table ({', '.join(ALLOWED)})."
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if quote == '"':
            text = check_own_include(root, path, module, target)
        else:
            text = check_vendor_include(path, module, target)
            if target.startswith("voxcycle/"):
                text = f'<{target}> is ours: include "{target}".'
        if text:
            yield number, text


def check_form(path, lines):
    comment = "//" if path.suffix in CODE else "#"
    first = 1 if lines and lines[0].startswith("#!") else 0
    expected = f"{comment} SPDX-License-Identifier: BSD-3-Clause"
    if len(lines) <= first or lines[first] != expected:
        yield first + 1, f'is not "{expected}".'
    if len(lines) > MOST_LINES:
        yield MOST_LINES + 1, f"{len(lines)} lines, more than {MOST_LINES}. Split by idea."


def check_mirror(root, path):
    """A test tests/<kind>/<module>/<x>_test.cpp needs a source or header <x> in that module."""
    if not path.name.endswith("_test.cpp"):
        return
    module, name = path.parts[2], path.stem.removesuffix("_test")
    places = [root / "src" / module, root / "include" / "voxcycle" / module]
    if module == "cycle":
        places.append(root / "cycles")
    if not any(file.stem == name and file.suffix in CODE for p in places for file in p.rglob("*")):
        yield 1, f"tests nothing: there is no {name}.cpp or {name}.hpp in module {module}."


def check_tree(root):
    """@return all violations as (path, line, text), paths relative to root."""
    found = []
    for top in ("include", "src", "cycles", "tests", "slurm"):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if not file.is_file() or path.suffix not in CODE | SCRIPTS:
                continue
            if path.parts[:2] == ("src", "cmake"):
                continue
            lines = file.read_text(encoding="utf-8").splitlines()
            checks = list(check_form(path, lines))
            if path.suffix in CODE and top in ("include", "src", "cycles"):
                checks += check_layers(root, path, lines)
            if path.parts[:2] in (("tests", "unit"), ("tests", "mpi"), ("tests", "gpu")) and len(path.parts) == 4:
                checks += check_mirror(root, path)
            found += [(path, number, text) for number, text in checks]
    return found


def main(arguments):
    if len(arguments) != 2:
        print("usage: layers.py PROJECT_ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[1])
    if not (root / "src").is_dir():
        print(f"layers.py: {root} holds no src/ (nothing would be checked).", file=sys.stderr)
        return 2
    violations = check_tree(root)
    for path, number, text in violations:
        print(f"{path}:{number}: {text}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
