#!/usr/bin/env python3
"""Checks the dependencies: licences, doubled versions, what is asked for and never used, and how many
crates mcp-aql adds to plain rmcp.

    scripts/dependencies.py

Reads `cargo metadata`. A licence passes when it, or one side of an `OR`, is on the list below.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import peers

ROOT = Path(__file__).resolve().parent.parent

LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}
# Two versions of one crate that we cannot help, and who asks for the older one.
DOUBLED = {"syn": "tracing-attributes"}
# Used by what a macro writes, or for their features alone.
USED_UNSEEN = {"schemars"}

# How many crates the default features may add to those that an rmcp server on standard input and
# output is built from, mcp-aql and its macros included. 25 is what we want; no more than now is what
# is checked.
MOST_ADDED = 28


def passes(expression):
    """Whether an SPDX expression can be met by the list. Old manifests write `/` for `OR`."""
    expression = expression.replace("/", " OR ").strip()
    while expression.startswith("(") and expression.endswith(")") and closes_last(expression):
        expression = expression[1:-1].strip()
    for operator, meets in ((" OR ", any), (" AND ", all)):
        parts = split(expression, operator)
        if len(parts) > 1:
            return meets(passes(part) for part in parts)
    return expression in LICENCES


def closes_last(expression):
    depth = 0
    for index, sign in enumerate(expression):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return index == len(expression) - 1
    return False


def split(expression, operator):
    parts, depth, start, index = [], 0, 0, 0
    while index < len(expression):
        depth += (expression[index] == "(") - (expression[index] == ")")
        if depth == 0 and expression.startswith(operator, index):
            parts.append(expression[start:index])
            index = start = index + len(operator)
        else:
            index += 1
    return [part.strip() for part in [*parts, expression[start:]]]


def sources(package):
    folder = Path(package["manifest_path"]).parent
    inner = [Path(other).parent for other in MANIFESTS if Path(other).parent != folder]
    for file in [*folder.rglob("*.rs"), *folder.rglob("*.md")]:
        nested = any(file.is_relative_to(other) and other.is_relative_to(folder) for other in inner)
        if "target" not in file.relative_to(folder).parts and not nested:
            yield file


def crates(folder):
    """What a package is built from on this machine, macros and build scripts included."""
    tree = subprocess.run(
        ["cargo", "tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"],
        cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    # The first line is the package itself.
    return {" ".join(line.split()[:2]) for line in tree.splitlines()[1:] if line}


def added():
    """The crates that the same server needs with mcp-aql, and does not need with plain rmcp."""
    with tempfile.TemporaryDirectory() as scratch:
        ours, peer = (crates(peers.make(Path(scratch) / side, side)) for side in ("ours", "peer"))
    return sorted(ours - peer)


def main():
    faults = []
    metadata = json.loads(subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    ).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    own = [packages[name] for name in metadata["workspace_members"]]
    global MANIFESTS
    MANIFESTS = [package["manifest_path"] for package in own]

    for package in packages.values():
        licence = package["license"] or ""
        if not passes(licence):
            faults.append(f"licence: {package['name']} {package['version']} has `{licence}`")

    # Doubled versions, among what a build for this machine contains.
    host = re.search(r"host: (\S+)", subprocess.run(
        ["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout)[1]
    tree = subprocess.run(
        ["cargo", "tree", "--workspace", "--all-features", "--locked", "--target", host,
         "--edges", "normal", "--prefix", "none", "--no-dedupe"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    versions = defaultdict(set)
    for line in filter(None, tree.splitlines()):
        name, version = line.split()[:2]
        versions[name].add(version)
    for name, found in sorted(versions.items()):
        if len(found) > 1 and name not in DOUBLED:
            faults.append(f"doubled: {name} {', '.join(sorted(found))}")

    for package in own:
        text = "\n".join(file.read_text() for file in sources(package))
        features = json.dumps(package["features"])
        for dependency in package["dependencies"]:
            name = (dependency["rename"] or dependency["name"]).replace("-", "_")
            if not re.search(rf"\b{name}\b", text) and name not in USED_UNSEEN:
                beside = " (its features are used)" if f'"{dependency["name"]}/' in features else ""
                faults.append(f"unused: {package['name']} asks for {dependency['name']}{beside}")

    extra = added()
    print(f"{len(extra)} crates beside those of plain rmcp: {', '.join(extra)}")
    if len(extra) > MOST_ADDED:
        faults.append(f"added: mcp-aql adds {len(extra)} crates to plain rmcp, {MOST_ADDED} at most")

    print("\n".join(faults))
    print(f"{len(packages)} packages, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
