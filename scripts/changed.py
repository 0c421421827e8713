#!/usr/bin/env python3
"""Chooses the checks that a change needs, for `.ci/run --changed`.

    scripts/changed.py BASE         compares the working tree with the last commit that it shares with BASE
    scripts/changed.py --suites     prints the packages that the README's command does not test

Prints a line `steps NAME…`, and the packages to test in three lines: `tests`, of which the README's command tests all,
`suites`, and `samples`, of which the documentation tests suffice. The rules:

- A package is affected if one of its files has changed, a file of another package that it includes, or a package that
  it depends on with all of its own features.
- A step is needed if its entry in `STEPS` names a changed path or an affected package, or if a script that it runs or
  its function in `.ci/run` has changed.
- A chapter of the book whose Rust samples are as before does not need the documentation tests, and one whose generated
  outputs are as before does not need `outputs`.
"""

import argparse
import json
import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = ".ci/run"
# The manifests of the workspaces.
WORKSPACES = ["Cargo.toml", "crates/mcp-aql-sqlx/Cargo.toml", "examples/team/Cargo.toml",
              "bench/aggregator/Cargo.toml", "fuzz/Cargo.toml"]
BOOK = "mcp-aql-book"
# The scripts on which tests depend.
OF_TESTS = {"scripts/postgres.sh": "mcp-aql-tests-databases"}
# What decides how everything is built.
EVERYTHING = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml"]

ADAPTERS = ["package:mcp-aql", "package:mcp-aql-examples"]
HTTP = ["crates/mcp-aql-server/src/http/*"]
# The paths that need a step, in the order in which the steps run. `*` also matches `/`. `package:NAME` stands for every
# change that affects the package. A step with an empty list is needed if a package that it builds is affected.
STEPS = {
    "format": ["*"],
    "spelling": ["*"],
    "structure": ["*"],
    "selection": ["*"],
    # It reports dependencies that no source uses.
    "dependencies": ["*Cargo.toml", "*Cargo.lock", "*.rs", "deny.toml"],
    "lints": [],
    "tests": [],
    "suites": [],
    "documentation": [],
    "features": ["package:mcp-aql", "package:mcp-aql-conformance", "package:mcp-aql-aggregator",
                 "package:mcp-aql-tests-features", "examples/*Cargo.toml"],
    "sqlx": ["package:mcp-aql-sqlx", "package:team"],
    "outputs": [*ADAPTERS, "package:mcp-aql-conformance-tests", "package:mcp-aql-bench"],
    "conforms": [*ADAPTERS, "package:mcp-aql-conformance", "examples/conformance/*"],
    "book": ["book/*", "README.md", "Cargo.toml", "crates/*/Cargo.toml", "mcp-aql/Cargo.toml",
             "crates/mcp-aql-core/src/call/*"],
    "soak": ["soak/*", "tests/databases/src/*", "crates/mcp-aql-stores/*", "crates/mcp-aql-core/src/execution/*"],
    "servers": ["crates/mcp-aql-aggregator/src/upstream/*", "crates/mcp-aql-aggregator/examples/*",
                "crates/mcp-aql-client/*", "book/src/aggregator.md"],
    "packages": ["examples/other-languages/*", "crates/mcp-aql-conformance/dist/*",
                 "crates/mcp-aql-conformance/Cargo.toml"],
    "languages": ["examples/other-languages/*"],
    "clients": [*HTTP, "crates/mcp-aql-conformance/src/wire/*"],
    "conformance": HTTP,
    "console": ["crates/mcp-aql-safety/src/console/*"],
    "deployment": [*HTTP, "examples/deployment/*", "crates/*/src/stop/*", "crates/mcp-aql-cli/src/command/http/*"],
    "metrics": ["crates/mcp-aql-metrics/*", "book/src/dashboards/*"],
    "mutants": [f"tests/conformance/src/{part}/*" for part in ("faults", "garden", "mutants")],
    "fuzz": ["fuzz/*"],
    "benchmark": ["bench/aggregator/*"],
    "instructions": ["bench/instructions.json"],
}


def output(*command):
    """Returns what a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@cache
def files():
    """Returns the paths of all files that git tracks or would add."""
    return dict.fromkeys(output("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines())


def changes(base):
    """Returns the paths that differ from the last commit shared with BASE, including files that are not committed."""
    shared = output("git", "merge-base", base, "HEAD").strip()
    differing = output("git", "diff", "--name-only", "--no-renames", shared).splitlines()
    added = output("git", "ls-files", "--others", "--exclude-standard").splitlines()
    return shared, sorted({*differing, *added})


@cache
def metadata(manifest):
    """Returns the packages of a workspace, as their manifests describe them."""
    return json.loads(output("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked", "--manifest-path",
                             manifest))


@cache
def manifests():
    """Returns the manifest of each package of this repository."""
    return {package["name"]: package for workspace in WORKSPACES for package in metadata(workspace)["packages"]}


def members():
    """Returns the packages of the main workspace: those that the README's command tests, and the others."""
    default = set(metadata(WORKSPACES[0])["workspace_default_members"])
    own = metadata(WORKSPACES[0])["packages"]
    return ({package["name"] for package in own if package["id"] in default},
            {package["name"] for package in own if package["id"] not in default})


@cache
def packages():
    """Returns the folder of each package, relative to the root."""
    return {name: Path(package["manifest_path"]).parent.relative_to(ROOT).as_posix()
            for name, package in manifests().items()}


def switch_on(package, features, enabled):
    """Adds the features that a package is built with to `enabled`, and those of its dependencies. Like cargo, but for
    packages of this repository alone. Returns whether it added any."""
    manifest, found = manifests()[package], set(features)
    waiting, optional, passed = list(found), set(), []
    while waiting:
        for item in manifest["features"].get(waiting.pop(), []):
            name, _, feature = item.removeprefix("dep:").partition("/")
            if feature:
                passed.append((name.rstrip("?"), feature))
                optional |= {name} - {name.rstrip("?") + "?"}
            elif item.startswith("dep:"):
                optional.add(name)
            elif name not in found:
                found.add(name)
                waiting.append(name)
    grown = not found <= enabled.get(package, set()) or package not in enabled
    enabled.setdefault(package, set()).update(found)
    for dependency in manifest["dependencies"]:
        name = dependency["name"]
        if name in manifests() and dependency["kind"] != "dev" and (not dependency["optional"] or name in optional):
            asked = {*dependency["features"], *(feature for of, feature in passed if of == name)}
            asked |= {"default"} if dependency["uses_default_features"] else set()
            if not asked <= enabled.get(name, set()) or name not in enabled:
                grown |= switch_on(name, asked | enabled.get(name, set()), enabled)
    return grown


@cache
def dependencies(package, dev=True):
    """Returns the packages of this repository that a package is built from, with all of its features, and itself."""
    enabled, manifest = {}, manifests()[package]
    switch_on(package, manifest["features"], enabled)
    for dependency in manifest["dependencies"] if dev else ():
        if dependency["name"] in manifests():
            default = {"default"} if dependency["uses_default_features"] else set()
            switch_on(dependency["name"], {*dependency["features"], *default}, enabled)
    return set(enabled)


@cache
def targets():
    """Returns the folders from which packages compile targets, and the packages."""
    return {(Path(target["src_path"]).parent.relative_to(ROOT).as_posix(), name)
            for name, package in manifests().items() for target in package["targets"]}


@cache
def uses_dev_dependencies_for_samples(package):
    """Returns whether nothing but the samples of a package's documentation needs its dev-dependencies."""
    kinds = {kind for target in manifests()[package]["targets"] for kind in target["kind"]}
    return packages()[package].startswith("crates/") and not kinds & {"test", "example", "bench"}


@cache
def owner(path):
    """Returns the package that a file belongs to: the one in the deepest folder."""
    inside = [(folder, name) for name, folder in packages().items() if path.startswith(f"{folder}/")]
    return max(inside)[1] if inside else None


@cache
def readers():
    """Returns the packages that include or read a file of another folder, by the file's path."""
    found = {}
    for file in files():
        if not file.endswith(".rs") or not (ROOT / file).is_file():
            continue
        package = owner(file)
        for text in re.findall(r'"/?((?:\.\./)+[\w./-]+)"', (ROOT / file).read_text()):
            for start in (Path(file).parent, Path(packages()[package])):
                parts = []
                for part in (start / text).parts:
                    parts = parts[:-1] if part == ".." else [*parts, part]
                target = "/".join(parts)
                if target in files() and owner(target) != package:
                    found.setdefault(target, set()).add(package)
                    # A module in a folder.
                    if target.endswith("/mod.rs"):
                        found.setdefault(target.removesuffix("mod.rs") + "*", set()).add(package)
    return found


def samples(text):
    """Returns the samples of a page of Markdown that tests compile or run."""
    return re.findall(r"^```(?:rust[^\n]*|python|typescript|)\n.*?^```", text, re.DOTALL | re.MULTILINE)


def outputs(text):
    """Returns the parts of a page that commands have generated, and what they are generated from."""
    marked = re.findall(r"<!-- (?:output|made): .*?<!-- /(?:output|made) -->", text, re.DOTALL)
    return marked, re.findall(r"^```(?:rust|toml)[^\n]*\n.*?^```", text, re.DOTALL | re.MULTILINE)


def differs(path, shared, part):
    """Returns whether a part of a text is not as it was."""
    before = subprocess.run(["git", "show", f"{shared}:{path}"], cwd=ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True).stdout
    now = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
    return part(before) != part(now)


def is_page(path):
    """Returns whether a file is a page with samples and outputs."""
    return path == "README.md" or (path.startswith("book/src/") and path.endswith(".md"))


def owners(path, shared):
    """Returns the packages that are built from a file, or that read it."""
    reading = {name for target, names in readers().items() if fnmatch(path, target) for name in names}
    if not is_page(path):
        compiled = {name for folder, name in targets() if path.startswith(f"{folder}/")}
        return reading | compiled | {owner(path), OF_TESTS.get(path)} - {None}
    reading.discard(BOOK)
    # The list of pages, and whether a page exists, are tested as well.
    is_listed = differs(path, shared, bool) or path.endswith("/SUMMARY.md")
    return reading | ({BOOK} if is_listed or differs(path, shared, samples) else set())


def affected(paths, shared):
    """Returns the packages that a change affects: those to test, and those whose documentation tests suffice."""
    if any(path in EVERYTHING for path in paths) or RUN in paths and differs(RUN, shared, around_steps):
        return set(packages()), set()
    changed = {name for path in paths for name in owners(path, shared)}
    whole, samples_only = set(), set()
    for package in packages():
        if dependencies(package, dev=False) & changed:
            whole.add(package)
        elif dependencies(package) & changed:
            (samples_only if uses_dev_dependencies_for_samples(package) else whole).add(package)
    return whole, samples_only


def mentions(text, script):
    """Returns whether a script names another or imports it."""
    stem = Path(script).stem
    forms = [script, f"import {stem}", f"from {stem}"]
    return re.search(rf"\b({'|'.join(map(re.escape, forms))})", text) is not None


FUNCTION = re.compile(r"^(\w+)\(\) \{[^\n]*\n(.*?)^\}", re.DOTALL | re.MULTILINE)
# A word where the shell expects a command.
COMMAND = re.compile(r"(?:^|[;&|(\[]|\bthen\b|\bdo\b)[ \t]*(?:\w+=[^\s(]*[ \t]+)*(\w+)", re.MULTILINE)


def step_functions(text):
    """Returns the body of each function of `.ci/run`, with those of the functions that it calls."""
    own, whole = dict(FUNCTION.findall(text)), {}
    for name in own:
        reached, waiting = {}, [name]
        while waiting:
            called = waiting.pop()
            if called in own and called not in reached:
                reached[called] = own[called]
                waiting.extend(COMMAND.findall(own[called]))
        whole[name] = "".join(reached.values())
    return whole


def around_steps(text):
    """Returns the lines of `.ci/run` that belong to no step."""
    return FUNCTION.sub(lambda found: "" if found[1] in STEPS else found[0], text)


@cache
def step_scripts():
    """Returns the scripts that each step runs, with those that these scripts use."""
    names = [Path(file).name for file in files() if file.startswith("scripts/")]
    texts = {name: (ROOT / "scripts" / name).read_text() for name in names}
    uses = {name: {other for other in names if other != name and mentions(texts[name], other)} for name in names}
    scripts = {}
    for step, body in step_functions((ROOT / RUN).read_text()).items():
        reached, waiting = set(), [name for name in names if f"scripts/{name}" in body]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting.extend(uses[name])
        scripts[step] = {f"scripts/{name}" for name in reached}
    return scripts


def needed(paths, shared, whole):
    """Returns the steps that a change needs."""
    scripts = step_scripts()
    tests, suites = members()
    built = {"lints": tests | suites, "documentation": tests | suites, "tests": tests, "suites": suites}
    steps = []
    for step, patterns in STEPS.items():
        named = any(fnmatch(path, pattern) for path in paths for pattern in patterns)
        packaged = any(pattern == f"package:{name}" for pattern in patterns for name in whole)
        run = any(path in scripts.get(step, ()) for path in paths)
        edited = RUN in paths and differs(RUN, shared, lambda text: step_functions(text).get(step))
        shown = step == "outputs" and any(is_page(path) and differs(path, shared, outputs) for path in paths)
        if named or packaged or run or edited or shown or whole & built.get(step, set()):
            steps.append(step)
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="a branch or a commit")
    parser.add_argument("--suites", action="store_true", help="the packages that the README's command does not test")
    arguments = parser.parse_args()
    tests, suites = members()
    if arguments.suites:
        print(*sorted(suites))
        return
    if not arguments.base:
        parser.error("a branch or a commit, for example main")
    if subprocess.run(["git", "merge-base", arguments.base, "HEAD"], cwd=ROOT, capture_output=True).returncode:
        parser.error(f"`{arguments.base}` shares no commit with HEAD here: fetch it, in a shallow clone with its history")
    shared, paths = changes(arguments.base)
    whole, samples_only = affected(paths, shared)
    print("steps", *needed(paths, shared, whole | samples_only))
    print("tests", *sorted(whole & tests))
    print("suites", *sorted(whole & suites))
    print("samples", *sorted(samples_only & tests))


if __name__ == "__main__":
    main()
