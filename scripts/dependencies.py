#!/usr/bin/env python3
"""Checks what cargo-deny does not: unused dependencies, the number of crates that mcp-aql adds to plain rmcp, and that
a part of the workspace is built with the same dependencies as the whole. deny.toml covers licences, sources, bans and
duplicate versions.

    scripts/dependencies.py
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

ROOT = Path(__file__).resolve().parent.parent

# Used by the expansions of macros, or for their features only, in any package or in one.
USED_UNSEEN = {"schemars", ("mcp-aql-derive", "toml_edit")}

# The names of mcp-aql and its own crates, which no other server contains, start with this.
OWN = "mcp-aql"
# The maximum number of further crates that the default features may add to those of an rmcp server on standard input
# and output.
MAX_ADDED = 32

# The package that `.ci/run` selects beside others, so that cargo does not build dependencies again for them.
UNION = "mcp-aql-tests-dependencies"


def sources(package):
    """Returns the source files of a package, and the files of others that it includes as modules."""
    folder = Path(package["manifest_path"]).parent
    # Includes packages of other workspaces, and excludes those that share a target with this one.
    shared = {Path(target["src_path"]).parent for target in package["targets"]}
    inner = [other.parent for other in folder.rglob("Cargo.toml") if other.parent not in {folder, *shared}]
    for file in [*folder.rglob("*.rs"), *folder.rglob("*.md")]:
        nested = any(file.is_relative_to(other) for other in inner)
        if "target" not in file.relative_to(folder).parts and not nested:
            yield file
            for included in re.findall(r'^#\[path = "(\.\./.+)"\]$', file.read_text(), re.MULTILINE):
                module = file.parent / included
                yield from module.parent.glob("*.rs") if module.name == "mod.rs" else [module]


def crates(folder):
    """Returns the crates that a package is built from on this machine, including macros and build scripts."""
    tree = subprocess.run(
        ["cargo", "tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"],
        cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    # The first line is the package itself.
    return {" ".join(line.split()[:2]) for line in tree.splitlines()[1:] if line}


def added():
    """Returns the third-party crates that the same server needs with mcp-aql but not with plain rmcp."""
    with tempfile.TemporaryDirectory() as scratch:
        ours, peer = (crates(peers.make(Path(scratch) / side, side)) for side in ("ours", "peer"))
    return sorted(crate for crate in ours - peer if not crate.startswith(OWN))


def builds(*selection):
    """Returns the sets of features with which cargo builds each crate for the tests of these packages: those of a macro
    and its dependencies are apart from those of the program."""
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--all-features", "--edges", "normal,build,dev", "--prefix", "none", "--format",
         "{p}|{f}", *selection],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    found = {}
    for line in filter(None, tree.splitlines()):
        crate, names = line.removesuffix(" (*)").rsplit("|", 1)
        found.setdefault(" ".join(crate.split()[:2]), set()).add(frozenset(filter(None, names.split(","))))
    return found


def lacking(own):
    """Returns what UNION lacks: features that only other packages of the workspace ask for."""
    whole = builds("--workspace")
    published = {package["name"] for package in own if package["publish"] is None}
    missing = {}
    for package in own:
        # The dependencies of the tests of macros are those of macros, which no other package shares.
        if package["name"] == f"{OWN}-derive":
            continue
        for crate, sets in builds("-p", UNION, "-p", package["name"]).items():
            name = crate.split()[0]
            if name in published or not name.startswith(OWN):
                for names in sets - whole[crate]:
                    # Of the sets of the workspace, the most similar one.
                    missing.setdefault(crate, set()).update(min((other - names for other in whole[crate]), key=len))
    return [f"lacking: {UNION} needs {crate} with {', '.join(sorted(names))}"
            for crate, names in sorted(missing.items())]


def main():
    faults = []
    metadata = json.loads(subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    ).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    own = [packages[name] for name in metadata["workspace_members"]]

    for package in own:
        if package["name"] == UNION:
            continue
        text = "\n".join(file.read_text() for file in sources(package))
        features = json.dumps(package["features"])
        for dependency in package["dependencies"]:
            name = (dependency["rename"] or dependency["name"]).replace("-", "_")
            if not re.search(rf"\b{name}\b", text) and not USED_UNSEEN & {name, (package["name"], name)}:
                beside = " (its features are used)" if f'"{dependency["name"]}/' in features else ""
                faults.append(f"unused: {package['name']} asks for {dependency['name']}{beside}")

    extra = added()
    print(f"mcp-aql, its macros and {len(extra)} crates beside those of plain rmcp: {', '.join(extra)}")
    if len(extra) > MAX_ADDED:
        faults.append(f"added: mcp-aql adds {len(extra)} crates to plain rmcp, which is more than {MAX_ADDED}")

    faults += lacking(own)
    print("\n".join(faults))
    print(f"{len(packages)} packages, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
