#!/usr/bin/env python3
"""Measures build times: fifty operations with mcp-aql, and the same fifty with plain rmcp.

    scripts/build-times.py                  prints one table; takes some minutes
    scripts/build-times.py --rounds 3       three clean builds of each, in turns, and the median
    scripts/build-times.py --out DIR        also writes build-times.json

Counts the user and system CPU time of cargo and its children, which depends less on other load than the elapsed
time. Exits with 0 even if a target is missed.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

SIDES = ("ours", "peer")
# The edited line: the description of `create_task`.
LINE = "Add a task to the board"


def build(folder):
    """Builds a package and returns the CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Cargo settings of the calling environment do not apply to these packages.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CARGO_") or name in ("CARGO_HOME", "CARGO_NET_OFFLINE")}
    environment.pop("RUSTFLAGS", None)
    run = subprocess.run(["cargo", "build", "--quiet"], cwd=folder, env=environment)
    if run.returncode != 0:
        sys.exit(f"{folder.name} does not build")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def as_published(folder):
    """Compiles crates of this workspace as cargo compiles those of a registry: without data for incremental builds."""
    tree = subprocess.run(["cargo", "tree", "--prefix", "none", "--edges", "normal"], cwd=folder, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    own = sorted({line.split()[0] for line in tree.splitlines() if line.startswith("mcp-aql")})
    with (folder / "Cargo.toml").open("a") as manifest:
        manifest.writelines(f"\n[profile.dev.package.{name}]\nincremental = false\n" for name in own)


def clean(folder, _round):
    shutil.rmtree(folder / "target", ignore_errors=True)
    return build(folder)


def rebuild(folder, number):
    kinds = folder / "src" / "records" / "kinds.rs"
    text = (peers.RECORDS / "kinds.rs").read_text()
    edited = text.replace(LINE, f"{LINE}, for the {number + 1}th time")
    if edited == text:
        sys.exit(f"nothing to edit: `{LINE}` is not in {kinds.name}")
    kinds.write_text(edited)
    return build(folder)


def in_turns(measure, folders, rounds):
    """Returns the seconds of each side and round. The first side alternates between rounds."""
    seconds = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            seconds[side].append(measure(folders[side], number))
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, help="clean builds of each")
    parser.add_argument("--edits", type=int, default=5, help="rebuilds of each after an edit")
    parser.add_argument("--out", type=Path, help="folder for build-times.json")
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.edits) < 1:
        parser.error("one round at least")

    with tempfile.TemporaryDirectory(prefix="build-times-") as scratch:
        folders = {side: peers.make(Path(scratch) / side, side) for side in SIDES}
        for folder in folders.values():
            subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=True)
            as_published(folder)
        rows = [
            ("clean dev build", 1.15, in_turns(clean, folders, arguments.rounds)),
            ("rebuild after an edit", 1.0, in_turns(rebuild, folders, arguments.edits)),
        ]

    print(f"{'processor time':24} {'ours':>9} {'rmcp':>9} {'ratio':>7} {'target':>8}  met?")
    results = []
    for what, target, seconds in rows:
        ours, peer = (statistics.median(seconds[side]) for side in SIDES)
        met = ours / peer <= target
        print(f"{what:24} {ours:7.2f} s {peer:7.2f} s {ours / peer:7.2f} {f'≤ {target:.2f}':>8}  "
              f"{'yes' if met else 'no'}")
        results.append({"what": what, "ours": ours, "peer": peer, "ratio": ours / peer,
                        "target": {"ratio_at_most": target}, "met": met, "seconds": seconds})
    print(f"\nMedians of {arguments.rounds} clean builds and {arguments.edits} rebuilds of each, in turns.")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "build-times.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
