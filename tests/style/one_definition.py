#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds types (class, struct, enum, union) that two files define in one namespace: where both are
linked into a program, one of the two is taken for both, and nobody is told.

usage: one_definition.py PROJECT_ROOT

Prints each violation as `file:line: text` and exits with 1 if there is any. Types of unnamed
namespaces, within functions or other types, and specialisations of templates are left alone.
"""

import re
import sys
from pathlib import Path

CODE = {".hpp", ".cpp", ".cuh", ".cu", ".h"}

# What is no code: comments, raw strings, strings, characters (but digits' separators), directives.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"
        |(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\[\[.*?\]\]|\S", re.DOTALL)
KINDS = ("class", "struct", "union", "enum")


def tokens_of(text):
    """@return the code's tokens as (token, line)"""
    blank = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found, line, end = [], 1, 0
    for match in TOKEN.finditer(blank):
        line += blank.count("\n", end, match.start())
        end = match.start()
        found.append((match[0], line))
    return found


def type_defined(tokens, at):
    """@return the type that the keyword at tokens[at] begins to define, and the place of its brace;
    None if it defines none."""
    name, place = None, at + 1
    while place < len(tokens):
        token = tokens[place][0]
        if token == "alignas":
            while tokens[place][0] != ")":
                place += 1
        elif token in ("{", ":"):
            break
        elif re.match(r"[A-Za-z_]", token):
            member = tokens[place - 1][0] == "::"  # of a type: struct File::Impl
            if token not in (*KINDS, "final"):
                name = f"{name}::{token}" if member else token
        elif token != "::" and not token.startswith("[["):
            return None  # a parameter, a declaration, a specialisation
        place += 1
    while place < len(tokens) and tokens[place][0] not in "{;":
        place += 1  # bases
    return (name, place) if name and place < len(tokens) and tokens[place][0] == "{" else None


def types_of(text):
    """@return types with external linkage as (qualified name, line)"""
    tokens = tokens_of(text)
    scopes = []  # the open braces: names of namespaces, None for all else
    pending = None  # what the next brace opens
    found, at = [], 0
    while at < len(tokens):
        token, line = tokens[at]
        if token == "namespace":
            name = []
            while tokens[at + 1][0] not in "{=;":
                at += 1
                if tokens[at][0] not in ("::", "inline"):
                    name.append(tokens[at][0])
            pending = "::".join(name) or None
        elif token == "extern" and at + 1 < len(tokens) and tokens[at + 1][0] == "{":
            pending = ""  # extern "C"
        elif token in KINDS and None not in scopes:
            definition = type_defined(tokens, at)
            if definition:
                found.append(("::".join([*filter(None, scopes), definition[0]]), line))
                at = definition[1] - 1
            elif token == "enum":
                at += 1  # over the class of an enum class
        elif token == "{":
            scopes.append(pending)
            pending = None
        elif token == "}" and scopes:
            scopes.pop()
        at += 1
    return found


def check_tree(root):
    """@return all violations as (path, line, text), paths relative to root."""
    first, found = {}, []
    for top in ("include", "src", "cycles"):
        for file in sorted((root / top).rglob("*")):
            if not file.is_file() or file.suffix not in CODE:
                continue
            path = file.relative_to(root)
            for name, line in types_of(file.read_text(encoding="utf-8")):
                other = first.setdefault(name, path)
                if other != path:
                    found.append((path, line, f"{name} is a type of {other}, too. Rename one, or "
                                              "put it into an unnamed namespace."))
    return found


def main(arguments):
    if len(arguments) != 2:
        print("usage: one_definition.py PROJECT_ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[1])
    if not (root / "src").is_dir():
        print(f"one_definition.py: {root} holds no src/ (nothing would be checked).", file=sys.stderr)
        return 2
    violations = check_tree(root)
    for path, line, text in violations:
        print(f"{path}:{line}: {text}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
