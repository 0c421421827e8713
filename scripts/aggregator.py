#!/usr/bin/env python3
"""Runs the aggregator in front of eight MCP servers that others wrote, driven by a client that others wrote.

    scripts/aggregator.py [--write] [COMMAND]      default: target/release/mcp-aql-aggregator

The servers are those of mcp-aql-aggregator/examples/servers.json: four from npm, four from PyPI, seven of which
answer queries and one of which has nothing to be asked. They know the book of this repository, and what
is made up for them here. The client is MCP's SDK for Python, over standard input and output and over HTTP.
Ends with 1 at the first thing that is not as it should be. `--write` puts what was seen on the terminal into
the book.

Needs python3 with venv, git, node and npm; servers and client are installed under target/clients at the
first run.
"""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import npm
import sdk

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "mcp-aql-aggregator" / "examples" / "servers.json"
CHAPTER = ROOT / "book" / "src" / "aggregator.md"
QUERY = "how are confirmation tokens bound to a call"
FROM_NPM = {
    "mcp-server-memory": ("@modelcontextprotocol/server-memory", "2026.8.31"),
    "mcp-memory-libsql": ("mcp-memory-libsql", "0.0.17"),
    "mcp-ripgrep": ("mcp-ripgrep", "0.4.0"),
    "mcp-server-filesystem": ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
}
# Each has a Python of its own: they do not agree on what they need.
FROM_PYPI = {
    "agents-docs": ["agents-docs==0.45.0"],
    "mcp-server-git": ["mcp-server-git==2026.10.19"],
    "mcp-server-sqlite": ["mcp-server-sqlite==2025.4.25", "mcp<2"],
    "mcp-server-time": ["mcp-server-time==2026.10.19"],
    # What mcp-ripgrep runs.
    "rg": ["ripgrep==15.1.0"],
}
SEVEN = ["memory", "graph", "docs", "text", "files", "history", "notes"]
TOOL = "mcp__proxy__aggregator__query"


def fail(message):
    sys.exit(f"FAILED: {message}")


def check(condition, message, seen=""):
    if not condition:
        fail(f"{message}\n{seen}")


def from_pypi(name, packages):
    """The folder with the program."""
    home = npm.CLIENTS / re.sub(r"[^\w.]+", "-", "-".join(packages))
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True, stdout=sys.stderr)
        subprocess.run(
            [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
            check=True, stdout=sys.stderr,
        )
        (home / "ready").touch()
    return home / "bin" / name


def programs(folder):
    """Installs all servers, and puts their programs into one folder."""
    folder.mkdir()
    node = npm.node()
    (folder / "node").symlink_to(node)
    for name, package in FROM_NPM.items():
        home = npm.install(*package)
        (folder / name).symlink_to(home.parents[len(Path(package[0]).parts)] / "node_modules" / ".bin" / name)
    for name, packages in FROM_PYPI.items():
        (folder / name).symlink_to(from_pypi(name, packages))


def run(command, env, **options):
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False, **options)
    check(ran.returncode == 0, f"{command} ended with {ran.returncode}", ran.stdout + ran.stderr)
    return ran.stdout


def data(demo, env):
    """What the servers know."""
    pages = demo / "pages"
    shutil.copytree(ROOT / "book" / "src", pages, ignore=shutil.ignore_patterns("images", "aggregator.md"))
    memory = [
        ("confirmation token", "concept", ["A confirmation token is bound to one call: operation and params are hashed."]),
        ("release day", "plan", ["Releases are on Tuesdays."]),
        ("Gates", "chapter", ["Gates decide which calls run, and which ask a person first."]),
    ]
    lines = [
        json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": told})
        for name, kind, told in memory
    ]
    (demo / "memory.jsonl").write_text("\n".join(lines) + "\n")
    with sqlite3.connect(demo / "notes.db") as notes:
        notes.execute("CREATE VIRTUAL TABLE notes USING fts5(title, body)")
        notes.executemany("INSERT INTO notes VALUES (?, ?)", [
            ("Review of the gates", "Asked whether a token could confirm another call. It cannot: tokens are bound."),
            ("Shopping", "Milk, tea, a new keyboard."),
            ("Tokens", "A confirmation token lives for five minutes and is used once."),
        ])
    notes.close()
    repository = demo / "repository"
    repository.mkdir()
    git = ["git", "-C", repository, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    run([*git, "init", "--quiet", "--initial-branch=main"], env)
    for subject in [
        "Begin", "Bind confirmation tokens to their call", "Mend a typo",
        "Refuse a confirmation token that was used", "Write the changelog",
    ]:
        run([*git, "commit", "--quiet", "--allow-empty", "-m", subject], env)
    docs = demo / "docs"
    docs.mkdir()


DRIVER = '''
import asyncio, json, sys
from mcp import Client, StdioServerParameters

async def main():
    target, calls = sys.argv[1], json.loads(sys.argv[2])
    if not target.startswith("http"):
        words = json.loads(target)
        target = StdioServerParameters(command=words[0], args=words[1:], env=dict(__import__("os").environ))
    async with Client(target) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            answers.append({
                "text": [block.text for block in result.content],
                "structured": result.structured_content,
                "failed": result.is_error,
            })
        print(json.dumps({"tools": tools, "answers": answers}))

asyncio.run(main())
'''


def drive(target, calls, env):
    """Tools, and answers to these calls, by a client that was not written here."""
    target = target if isinstance(target, str) else json.dumps([str(word) for word in target])
    told = run([sdk.python(), "-c", DRIVER, target, json.dumps(calls)], env, timeout=180)
    return json.loads(told)


def seed(env):
    """Puts into the servers what they keep in a form of their own."""
    entities = [
        {"name": "token binding", "entityType": "design",
         "observations": ["The hash of a call is part of its confirmation token."]},
        {"name": "espresso machine", "entityType": "thing", "observations": ["Second floor."]},
    ]
    told = drive(["mcp-memory-libsql"], [("create_entities", {"entities": entities})], env)
    check(not told["answers"][0]["failed"], "the graph takes what it is to know", told)


def check_answer(answer):
    servers = {server["name"]: server for server in answer["metadata"]["servers"]}
    for name in SEVEN:
        check(servers[name]["status"] == "ok", f"{name} answers", servers[name])
        check(servers[name]["resultsRaw"] > 0, f"{name} has something to say", servers[name])
    check(servers["clock"]["status"] == "no query tool", "the clock is left out", servers["clock"])
    results, metadata = answer["results"], answer["metadata"]
    check(metadata["serversQueried"] == metadata["serversSucceeded"] == 7, "seven are asked", metadata)
    check(metadata["resultsReturned"] == len(results) <= 20, "the counts are true", metadata)
    check([result["rank"] for result in results] == list(range(1, len(results) + 1)), "ranks", results)
    scores = [result["relevanceScore"] for result in results]
    check(scores == sorted(scores, reverse=True) and 0 <= scores[-1] <= scores[0] <= 1, "scores", scores)
    best = " ".join(result["content"].lower() for result in results[:3])
    check("confirmation" in best and "token" in best, "the best ones are about it", best)
    check(len({result["server"] for result in results}) >= 4, "several servers contribute", results)


def main():
    arguments = [word for word in sys.argv[1:] if word != "--write"]
    command = Path(arguments[0] if arguments else ROOT / "target/release/mcp-aql-aggregator").resolve()
    with tempfile.TemporaryDirectory() as home:
        demo = Path(home) / "demo"
        demo.mkdir()
        bin = Path(home) / "bin"
        programs(bin)
        (bin / command.name).symlink_to(command)
        env = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "DEMO": str(demo), "NO_COLOR": "1",
               "COLUMNS": "100", "LIBSQL_URL": f"file:{demo / 'graph.db'}", "HOME": home}
        env = {name: value for name, value in env.items() if not name.startswith("MCP_AQL")}
        data(demo, env)
        run(["agents-docs", "ingest", demo / "pages"], env, cwd=demo / "docs")
        seed(env)
        shutil.copy(CONFIG, demo / "servers.json")

        shown = []
        for words in [
            "check --config servers.json --query 'confirmation tokens'",
            f"query --config servers.json --max-results 10 '{QUERY}'",
        ]:
            line = f"mcp-aql-aggregator {words}"
            shown.append(f"$ {line}\n" + run(["bash", "-c", line], env, cwd=demo))
        serve = [command, "serve", "--config", demo / "servers.json"]
        calls = [(TOOL, {"query": "are you there"})] * 2 + [(TOOL, {"query": QUERY, "maxResults": 20})]
        # The first ones wait for servers that start.
        told = drive(serve, [*calls[:1] * 4, calls[-1]], env)
        check(told["tools"] == [TOOL], "one tool is there", told["tools"])
        answer = told["answers"][-1]
        check(json.loads(answer["text"][0]) == answer["structured"], "text and structure are the same", answer)
        check_answer(answer["structured"])
        print("ok: the tool over standard input and output")
        over_http(serve, env)
        operations(serve, env)
        if "--write" in sys.argv:
            write(shown, str(demo))
        elif shown:
            print("\n".join(shown))
    print("4 passed, 0 failed")


def over_http(serve, env):
    process = subprocess.Popen([*serve, "--http", "127.0.0.1:0"], env=env, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        url = re.search(r"http://\S+/mcp", line)
        check(url, "it says where it listens", line)
        until = time.monotonic() + 60
        while True:
            told = drive(url[0], [(TOOL, {"query": QUERY, "maxResults": 20})], env)
            answer = told["answers"][0]["structured"]
            waiting = answer is None or any(s["status"] == "still starting" for s in answer["metadata"]["servers"])
            if not waiting or time.monotonic() > until:
                break
        check_answer(answer)
        process.send_signal(signal.SIGTERM)
        check(process.wait(10) == 0, "it ends when it is told to")
    finally:
        process.kill()
        process.wait()
    print("ok: the tool over HTTP")


def operations(serve, env):
    def call(operation, params):
        return ("mcp_aql_read", {"operation": operation, "params": params})

    search = call("search_servers", {"query": QUERY, "first": 5, "fields": ["rank", "server", "content"]})
    told = drive([*serve, "--face", "mcp-aql"], [*[search] * 4, call("list_servers", {})], env)
    found, states = (json.loads(answer["text"][0]) for answer in told["answers"][-2:])
    check(len(found["data"]["items"]) == 5, "five results", found)
    ready = [server["name"] for server in states["data"]["items"] if server["state"] == "ready"]
    check(sorted(ready) == sorted(SEVEN), "seven servers are ready", states)
    print("ok: the operations over standard input and output")


def write(shown, demo):
    begin, end = "<!-- transcript -->\n", "<!-- /transcript -->"
    page = CHAPTER.read_text()
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    body = "".join(shown).replace(demo, "/demo")
    CHAPTER.write_text(f"{head}{begin}```console\n{body}```\n{end}{tail}")


if __name__ == "__main__":
    main()
