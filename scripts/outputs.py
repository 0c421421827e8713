#!/usr/bin/env python3
"""Runs the commands that README and book show, and updates or checks their outputs.

        scripts/outputs.py           update the outputs
        scripts/outputs.py --check   exit with 1 if a shown output is outdated

An output is between two comments:

        <!-- output: shelf -->        commands after `$ `, run in the crate of "Getting started", which is
                                      generated from that chapter's `Cargo.toml` and `main.rs`
        <!-- output: tasks -->        commands after `$ `, run with examples/tasks and an empty database;
                                      likewise for library and rest
        <!-- output: guard -->        the same with examples/guard, while a client runs one
        <!-- output: conforms -->     commands after `$ `, run with mcp-aql-conformance, the examples and the
                                      runner's own faulty adapter
        <!-- output: broken NAME -->  the compile error of the snippet NAME below
    <!-- /output -->

A part of a page that a command generates is between two other comments:

    <!-- made: mcp-aql-conformance list --format markdown -->
    <!-- /made -->

Commands run as on a terminal of 100 columns without colours. The text after `[y/N] ` is typed there.
"""

import contextlib
import difflib
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "book" / "src"
TARGET = ROOT / "target"
WORK = ROOT / "target" / "outputs"
BLOCK = re.compile(
    r"<!-- output: (?P<kind>\w+) ?(?P<name>[\w-]*) -->\n```(?P<lang>\w+)\n(?P<body>.*?)```\n<!-- /output -->",
    re.DOTALL,
)
MADE = re.compile(r"(?P<head><!-- made: (?P<command>[^\n]+) -->\n)(?P<body>.*?)<!-- /made -->", re.DOTALL)

EXAMPLES = ["tasks", "library", "rest", "guard"]
PRELUDE = "use mcp_aql::prelude::*;\n\n"
END = "\nfn main() {\n    let _ = Adapter::builder(\"it\").operation(NAME {});\n}\n"
BROKEN = {
    "example-lacks": ("book_table", '''/// Book a table.
#[operation(category = "CREATE", example = { "people": 0 })]
fn book_table(
    /// How many come.
    #[param(minimum = 1, maximum = 12)]
    people: u8,
    /// The evening.
    #[param(format = "date")]
    day: String,
) -> String {
    format!("{people} {day}")
}
'''),
    "constraint-type": ("create_task", '''/// Create a task.
#[operation(category = "CREATE")]
fn create_task(
    /// 1 is most urgent.
    #[param(default = 9, max_length = 5, maximum = 5)]
    priority: u8,
) -> u8 {
    priority
}
'''),
    "verb": ("delete_cache", '''/// Forget what was computed.
#[operation(category = "EXECUTE")]
fn delete_cache() {}
'''),
    "tour": ("create_task", '''/// Create a task.
#[operation(category = "CRATE", example = { "titel": "Ship it" })]
fn create_task(
    /// Short title.
    #[param(min_length = 1, max_length = 200)]
    title: String,
    #[param(default = 9, minimum = 1, maximum = 5)]
    priority: u8,
) -> String {
    format!("{title} {priority}")
}
'''),
}


def environment(cwd, path):
    """Returns the environment of a user without settings, whose home is this folder."""
    variables = {
        **os.environ, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb", "RUST_BACKTRACE": "0",
        "PATH": f"{path}:{os.environ['PATH']}", "HOME": str(cwd),
    }
    ours = ("MCP_AQL", "MCPAQL", "CARGO_TARGET", "XDG_")
    return {name: value for name, value in variables.items() if not name.startswith(ours)}


QUESTION = "[y/N] "


def run(command, cwd, path, answers=()):
    """Returns the command's output on a terminal, with these answers to its questions."""
    answers = list(answers)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=cwd, env=environment(cwd, path), stdin=theirs, stdout=theirs, stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
        if answers and b"".join(chunks).endswith(QUESTION.encode()):
            os.write(ours, f"{answers.pop(0)}\n".encode())
    process.wait()
    os.close(ours)
    text = b"".join(chunks).decode().replace("\r\n", "\n")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    # A line that is rewritten replaces its previous content.
    return re.sub(r"[^\n]*\r", "", text)


@contextlib.contextmanager
def served(example, cwd, path):
    """Runs the guard with a connected client."""
    process = subprocess.Popen(
        [path / example], cwd=cwd, env=environment(cwd, path), stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            if list(Path(cwd).glob("**/console-*.json")):
                break
            time.sleep(0.1)
        yield
    finally:
        process.stdin.close()
        process.wait(10)


def shelf():
    """Creates the crate of "Getting started"."""
    chapter = (CHAPTERS / "getting-started.md").read_text()
    manifest = re.search(r"```toml\n(.*?)```", chapter, re.DOTALL)[1]
    program = re.search(r"```rust[^\n]*\n(.*?)```", chapter, re.DOTALL)[1]
    crate = WORK / "shelf"
    shutil.rmtree(crate / "src", ignore_errors=True)
    (crate / "src" / "bin").mkdir(parents=True)
    runtime = f'path = "{ROOT / "mcp-aql"}"'
    manifest = manifest.replace('path = "../mcp-aql/mcp-aql"', runtime)
    # The profile of the workspace, so that its build results are reused.
    profiles = re.findall(r"^\[profile\.dev[^\n]*\n(?:(?!\[).*\n)*", (ROOT / "Cargo.toml").read_text(), re.M)
    manifest += "\n[workspace]\n\n" + "".join(profiles)
    (crate / "Cargo.toml").write_text(manifest)
    (crate / "src" / "main.rs").write_text(program)
    shutil.copy(ROOT / "Cargo.lock", crate / "Cargo.lock")
    subprocess.run(["cargo", "build", "--quiet"], cwd=crate, env=target(), check=True)
    return crate, program


def target():
    return {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}


def compiler_says(crate, name, source):
    file = crate / "src" / "bin" / f"broken-{name}.rs"
    file.write_text(source)
    outcome = subprocess.run(
        ["cargo", "build", "--quiet", "--bin", f"broken-{name}"], cwd=crate, env=target(),
        stderr=subprocess.PIPE, text=True,
    )
    file.unlink()
    if outcome.returncode == 0:
        sys.exit(f"the snippet `{name}` compiles")
    text = outcome.stderr.replace(f"src/bin/broken-{name}.rs", "src/main.rs")
    return text.split("error: could not compile")[0].strip() + "\n"


def commands(body):
    """Returns the commands of a block with their continuation lines, and the answers to their questions."""
    command, answers = [], []
    for line in body.splitlines():
        if command and command[-1].endswith("\\"):
            command.append(line)
        elif line.startswith("$ "):
            if command:
                yield "\n".join(command), answers
            command, answers = [line[2:]], []
        elif QUESTION in line:
            answers.append(line.split(QUESTION)[1])
    if command:
        yield "\n".join(command), answers


class Outputs:
    def __init__(self):
        self.crate, self.program = shelf()
        subprocess.run([ROOT / ".ci" / "run", "--step", "programs"], check=True)
        examples = TARGET / "debug" / "examples"
        self.paths = dict.fromkeys(EXAMPLES, examples)
        self.paths["shelf"] = TARGET / "debug"
        self.paths["conforms"] = f"{TARGET / 'debug'}:{examples}"

    def made(self, command):
        """Returns the output of a command."""
        with tempfile.TemporaryDirectory() as folder:
            text = run(command, folder, self.paths["conforms"])
        return f"\n{text.strip()}\n\n"

    def of(self, kind, name, body):
        if kind == "broken" and name == "shelf":
            comment = "        /// Title as printed on the cover.\n"
            return compiler_says(self.crate, name, self.program.replace(comment, "", 1))
        if kind == "broken":
            operation, source = BROKEN[name]
            source = PRELUDE + source + END.replace("NAME", operation)
            return compiler_says(self.crate, name, source)
        with tempfile.TemporaryDirectory() as folder:
            path = self.paths[kind]
            text = ""
            with served(kind, folder, path) if kind == "guard" else contextlib.nullcontext():
                for command, answers in commands(body):
                    plain = re.sub(r"cargo run (?:-q )?-p (\w+) --", r"\1", command)
                    plain = plain.replace("cargo run -q --", "shelf")
                    text += f"$ {command}\n" + run(plain, folder, path, answers)
        shown = {"shelf": "shelf/target/debug", "guard": "mcp-aql/target/release"}
        shown = shown.get(kind, "mcp-aql/target/debug")
        text = text.replace(str(path), f"/path/to/{shown}")
        return text.rstrip() + "\n"


def steady(text):
    """Removes the parts that vary between runs."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<instant>", text)
    text = re.sub(r"\bnext page: after [\w-]+", "next page: after <cursor>", text)
    text = re.sub(r":\d+/login\?once=[\w-]+", ":<port>/login?once=<link>", text)
    text = re.sub(r"process \d+, since [\d:\- ]+ UTC", "process <n>, since <instant>", text)
    text = re.sub(r"\bduration_ms=[\d.]+", "duration_ms=<n>", text)
    text = re.sub(r"(mode|modes), \d+\.\d\d s\b", r"\1, <n> s", text)
    return re.sub(r"\b([se])-[0-9a-f]{16}\b", r"\1-<id>", text)


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    outputs = Outputs()
    stale = count = 0
    for file in [ROOT / "README.md", *sorted(CHAPTERS.glob("*.md"))]:
        text = file.read_text()
        parts, end = [], 0
        for block in BLOCK.finditer(text):
            count += 1
            today = outputs.of(block["kind"], block["name"], block["body"])
            if steady(today) != steady(block["body"]):
                stale += 1
                if check:
                    place = f"{file.relative_to(ROOT)}: {block['kind']} {block['name']}"
                    lines = difflib.unified_diff(
                        block["body"].splitlines(), today.splitlines(), place, "today", lineterm=""
                    )
                    print("\n".join(lines))
            else:
                today = block["body"]
            parts += [text[end:block.start("body")], today]
            end = block.end("body")
        text = "".join(parts) + text[end:]
        for block in reversed(list(MADE.finditer(text))):
            count += 1
            today = outputs.made(block["command"])
            if today != block["body"]:
                stale += 1
                if check:
                    print(f"{file.relative_to(ROOT)}: `{block['command']}` writes something else today")
                text = text[:block.start("body")] + today + text[block.end("body"):]
        if not check and text != file.read_text():
            file.write_text(text)
    print(f"{count - stale} passed, {stale} {'failed' if check else 'rewritten'}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
