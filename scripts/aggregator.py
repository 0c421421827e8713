#!/usr/bin/env python3
"""Runs the aggregator with nine third-party MCP servers, driven by third-party clients.

    scripts/aggregator.py [--write] [COMMAND]      default: target/release/mcp-aql-aggregator

The servers are those of crates/mcp-aql-aggregator/examples/servers.json: five from npm, four from PyPI, and
examples/tasks, which is expected beside COMMAND and queried as an MCP-AQL adapter. Eight answer queries, two offer
nothing that can be queried. Their content is artificial: crates/mcp-aql-aggregator/examples/pages and the data below. The
clients are MCP's SDK for Python, over standard input and output and over HTTP, and the Inspector's command line.

Exits with 1 at the first failed check. One check compares the book's output, without times, with the current one.
`--write` updates the book.

Requires Linux, python3 with venv, git, node and npm. Servers and clients are installed under target/clients on the
first run.
"""

import concurrent.futures
import contextlib
import copy
import difflib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import foreign
import third_party
from clients import Refused, Sdk
from testing import ROOT, check, served

EXAMPLES = ROOT / "crates" / "mcp-aql-aggregator" / "examples"
CHAPTER = ROOT / "book" / "src" / "aggregator.md"
BLOCK = re.compile(r"(?<=<!-- transcript -->\n).*?(?=<!-- /transcript -->)", re.DOTALL)
QUERY = "how do we restore the database from a backup"
FROM_NPM = {
    "mcp-server-memory": ("@modelcontextprotocol/server-memory", "2026.8.31"),
    "mcp-memory-libsql": ("mcp-memory-libsql", "0.0.17"),
    "mcp-ripgrep": ("mcp-ripgrep", "0.4.0"),
    "mcp-server-filesystem": ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
}
# By the version of the SDK that they require.
FROM_PYPI = {1: ["agents-docs", "mcp-server-sqlite", "rg"], 2: ["mcp-server-git", "mcp-server-time"]}
ASKED = ["memory", "graph", "docs", "text", "files", "history", "notes", "tasks"]
LEFT_OUT = ["clock", "everything"]
TOOL = "mcp__proxy__aggregator__query"
STRUCTURED = "structuredContent"
STARTING = "still starting"
# The time in seconds for which servers may start.
PATIENCE = 60


def run(command, env, timeout=180, **options):
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, **options)
    check(ran.returncode == 0, f"{command[0]} ends with 0", f"{command}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def programs(folder, command):
    """Installs all servers and clients, and collects the programs that the configuration starts in one folder."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        inspector = pool.submit(third_party.npm, *third_party.INSPECTOR)
        everything = pool.submit(third_party.npm, *foreign.EVERYTHING)
        node = pool.submit(third_party.node)
        folders = {version: pool.submit(third_party.pypi, *third_party.PYTHON[version]) for version in FROM_PYPI}
        found = {name: pool.submit(third_party.npm_program, *package, name) for name, package in FROM_NPM.items()}
    found = {name: program.result() for name, program in found.items()}
    found |= {name: folders[version].result() / name for version, names in FROM_PYPI.items() for name in names}
    found |= {command.name: command, "tasks": command.parent / "examples" / "tasks", "node": node.result()}
    folder.mkdir()
    for name, program in found.items():
        check(program.exists(), f"{program.name} is built: see the chapter on the aggregator")
        (folder / name).symlink_to(program)
    return [node.result(), everything.result() / "dist" / "index.js"], inspector.result()


def data(home, env):
    """Creates the content of the servers."""
    shutil.copytree(EXAMPLES / "pages", home / "pages")
    shutil.copy(EXAMPLES / "servers.json", home)
    # Several threads search, and their results arrive in any order.
    (home / "ripgreprc").write_text("--sort=path\n")
    run(["agents-docs", "ingest", "shop", home / "pages"], env)

    entities = [
        ("database", "system", ["PostgreSQL 17, one writer, two readers", "Mara knows how to restore it"]),
        ("Mara", "person", ["Looks after storage", "Is away on Fridays"]),
        ("pager", "system", ["Its number is on the door"]),
    ]
    (home / "memory.jsonl").write_text("".join(
        json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": told}) + "\n"
        for name, kind, told in entities
    ))

    # As on the page: the same result appears twice.
    known = {"name": "backups", "entityType": "practice", "observations": [
        "A restored backup lacks at most five minutes", "The copies are encrypted with the key of the vault"]}
    other = {"name": "bicycle shed", "entityType": "place", "observations": ["Its key hangs at the reception"]}
    seeded, = ask(["mcp-memory-libsql"], [("create_entities", {"entities": [known, other]})],
                  {**env, "LIBSQL_URL": f"file:{home / 'graph.db'}"})[1]
    check(not seeded.get("isError"), "the graph takes what it is to know", seeded)

    with contextlib.closing(sqlite3.connect(home / "notes.db")) as notes, notes:
        notes.execute("CREATE VIRTUAL TABLE notes USING fts5(title, body)")
        notes.executemany("INSERT INTO notes VALUES (?, ?)", [
            ("Restore of 3 June", "The restore took 52 minutes: the database's newest backup hadn't been \"fetched\" before."),
            ("Supplier's call", "They deliver on Thursdays."),
            ("What the auditor asked", "When was a backup last restored? On the first Monday, see the list."),
        ])

    run([home / "bin" / "tasks", "--db", home / "tasks.db", "call", "create_task",
         json.dumps({"title": "Restore last night's backup into staging", "priority": 2})], env)
    run([home / "bin" / "tasks", "--db", home / "tasks.db", "call", "create_task",
         json.dumps({"title": "Water the plants"})], env)

    shop = home / "shop"
    shop.mkdir()
    by = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
          for what, value in [("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2026-06-03T10:00:00+00:00")]}
    run(["git", "init", "--quiet", "--initial-branch=main", shop], env)
    for subject in ["Begin", "Fetch backups before they are restored", "Mend a typo",
                    "Check stock and orders after the database is restored", "Round prices to cents"]:
        run(["git", "-C", shop, "commit", "--quiet", "--allow-empty", "-m", subject], {**env, **by})


def ask(target, calls, env):
    """Returns the tools, and the results or errors of these calls, through the SDK. A call with a third member is
    repeated while its answer contains that text."""
    answers = []
    with Sdk("Python", 2, env=env, cwd=env["HOME"]) as sdk, sdk.open(target) as connection:
        tools = connection.ask("tools")
        for tool, arguments, *marker in calls:
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    answer = connection.call(tool, arguments)["result"]
                except Refused as error:
                    answer = error.error
                if not marker or marker[0] not in json.dumps(answer) or time.monotonic() > until:
                    break
                time.sleep(0.1)
            answers.append(answer)
    return tools, answers


def text_of(result):
    return result["content"][0]["text"]


def processes(home):
    """Returns the processes with this home: the servers and their children, and no others."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            # The process has ended or belongs to another user.
            continue
    return found


def all_end(home, what):
    until = time.monotonic() + 10
    while (left := processes(home)) and time.monotonic() < until:
        time.sleep(0.05)
    check(not left, f"no process is left {what}", left)


def timeless(answer):
    """Removes the times from an answer and sorts its members, because their order has no meaning in JSON."""
    answer = copy.deepcopy(answer)
    del answer["metadata"]["processingTimeMs"]
    for server in answer["metadata"]["servers"]:
        del server["latencyMs"]
    for result in answer["results"]:
        del result["timestamp"]
    return json.dumps(answer, indent=1, sort_keys=True)


def check_same(answer, expected, message):
    lines = difflib.unified_diff(expected.splitlines(), timeless(answer).splitlines(), lineterm="")
    check(not (differs := "\n".join(lines)), message, differs)


def check_answer(answer, limit=20):
    results, metadata = answer["results"], answer["metadata"]
    servers = {server["name"]: server for server in metadata["servers"]}
    check(list(servers) == [*ASKED, *LEFT_OUT], "all servers are told of, in their order", servers)
    for name in ASKED:
        check(servers[name]["status"] == "ok", f"{name} answers", servers[name])
        check(servers[name]["resultsRaw"] > 0, f"{name} has something to say", servers[name])
        shown = sum(result["server"] == name for result in results)
        check(servers[name]["results"] == shown, f"the results of {name} are counted", servers[name])
    for name in LEFT_OUT:
        check(servers[name]["status"] == "no query tool", f"{name} is left out", servers[name])
    check(metadata["serversQueried"] == metadata["serversSucceeded"] == len(ASKED), "eight are asked", metadata)
    raw = sum(server["resultsRaw"] for server in servers.values())
    check(metadata["totalResultsRaw"] == raw >= metadata["totalResultsDedup"], "raw results are counted", metadata)
    # Items without a word of the query may be omitted.
    check(metadata["resultsReturned"] == len(results) <= min(limit, metadata["totalResultsDedup"]),
          "returned results are counted", metadata)
    check(metadata["totalResultsDedup"] < raw, "copies are found", metadata)
    given = {result["server"] for result in results}
    check(len(given) >= 6, "many servers have a part", given)
    check(abs(metadata["serverDiversity"] - len(given) / len(ASKED)) < 1e-9, "their part is told", metadata)
    check([result["rank"] for result in results] == list(range(1, len(results) + 1)), "ranks count", results)
    scores = [result["relevanceScore"] for result in results]
    check(scores == sorted(scores, reverse=True) and 0 <= scores[-1] < scores[0] <= 1, "scores fall", scores)
    check(len({result["server"] for result in results[:10]}) >= 4, "servers are ranked together", results)
    for result in results[:5]:
        found = result["content"].lower()
        check(re.search("restore|restoring", found) and re.search("database|backup", found), "the best are about it", result)


def over_stdio(serve, env, home):
    """Returns the answer that the others are compared with."""
    arguments = {"query": QUERY, "maxResults": 20}
    tools, answers = ask(serve, [
        (TOOL, arguments, STARTING), (TOOL, arguments), (TOOL, {"query": QUERY, "servers": ["notes", "tasks"]}),
        (TOOL, {"query": QUERY, "servers": ["nots"]}), (TOOL, {"query": QUERY, "servers": ["clock"]}),
    ], env)
    all_end(home, "after the client has gone")
    check(list(tools) == [TOOL], "one tool is there", tools)
    check(tools[TOOL]["annotations"]["readOnlyHint"], "it only reads", tools)
    first, second, two, refused, failed = answers
    for answer in (first, second):
        check(json.loads(text_of(answer)) == answer[STRUCTURED], "text and structure are the same", answer)
        check_answer(answer[STRUCTURED])
    check_same(second[STRUCTURED], timeless(first[STRUCTURED]), "the same query gives the same bytes")
    given = {result["server"] for result in two[STRUCTURED]["results"]}
    check(given == {"notes", "tasks"} and two[STRUCTURED]["metadata"]["serversQueried"] == 2, "two are asked", two)
    check(refused["code"] == -32602 and refused["data"]["field"] == "servers" and "notes" in refused["data"]["reason"],
          "an unknown server is refused, and the nearest named", refused)
    check(failed["code"] == -32603 and failed["data"]["attemptedServers"] == ["clock"]
          and failed["data"]["errors"] == ["clock: no query tool"], "who cannot be asked is told", failed)
    print("ok: the SDK for Python, standard input and output")
    return timeless(first[STRUCTURED])


def over_http(serve, env, home, inspect, expected):
    with served(serve, home / "serve.log", env=env) as (url, server):
        arguments = {"query": QUERY, "maxResults": 20}
        answer, = ask(url, [(TOOL, arguments, STARTING)], env)[1]
        check_answer(answer[STRUCTURED])
        check_same(answer[STRUCTURED], expected, "it is the same as over standard input and output")
        print("ok: the SDK for Python, HTTP")
        told = json.loads(run(
            [*inspect, "--format", "json", "--transport", "http", "--server-url", url, "--method", "tools/call",
             "--tool-name", TOOL, "--tool-args-json", json.dumps(arguments)], env))
        told = told.get("result", told)[STRUCTURED]
        # JavaScript writes 1 for 1.0.
        told["metadata"]["serverDiversity"] = float(told["metadata"]["serverDiversity"])
        check_same(told, expected, "the Inspector is told the same")
        print("ok: the Inspector, HTTP")
        # Otherwise the absence of remaining processes would prove nothing.
        running = processes(home)
        check(len(running) > len(ASKED) + 1, "the servers run", running)
        server.kill()
        server.wait()
        all_end(home, "after the aggregator was killed")
        print(f"ok: killed, and none of {len(running)} processes is left")


def operations(serve, env, home):
    def call(operation, params, *rest):
        return ("mcp_aql_read", {"operation": operation, "params": params}, *rest)

    params = {"query": QUERY, "first": 5, "fields": ["rank", "server", "content"]}
    _, answers = ask([*serve, "--face", "mcp-aql"], [
        call("list_servers", {"fields": "full"}, '\\"starting\\"'), call("search_servers", params),
        call("search_servers", {**params, "filter": {"server": ["docs", "notes"]}}),
    ], env)
    all_end(home, "after the client of the adapter has gone")
    states, found, filtered = (json.loads(text_of(answer)) for answer in answers)
    states = {server["name"]: server["state"] for server in states["data"]["items"]}
    check(states == {**dict.fromkeys(ASKED, "ready"), **dict.fromkeys(LEFT_OUT, "unmapped")}, "states are told", states)
    check([item["rank"] for item in found["data"]["items"]] == [1, 2, 3, 4, 5], "five results", found)
    check({item["server"] for item in filtered["data"]["items"]} == {"docs", "notes"}, "results of two", filtered)
    print("ok: the SDK for Python, the operations")


def shown(env, home):
    """Returns the output that the book shows."""
    text = ""
    for line in ["cat servers.json",
                 "mcp-aql-aggregator check --config servers.json --query 'restore a backup'",
                 f"mcp-aql-aggregator query --config servers.json --max-results 15 '{QUERY}'"]:
        text += f"$ {line}\n" + run(["bash", "-c", line], env, cwd=home).rstrip() + "\n\n"
        all_end(home, f"after {line}")
    return "```console\n" + text.rstrip().replace(str(home), "/home/ada") + "\n```\n"


def compare(page, text):
    """Compares the output with the book, without the times, which vary."""
    def without_times(text):
        return re.sub(r" *\b\d+ ms\b", " 0 ms", text).splitlines(keepends=True)

    written = BLOCK.search(page)[0]
    lines = difflib.unified_diff(without_times(written), without_times(text), str(CHAPTER.relative_to(ROOT)), "today")
    check(not (differs := "".join(lines)), "the book shows what comes out (--write mends it)", differs)
    print("ok: the book shows what comes out")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--write"]
    command = Path(arguments[0] if arguments else ROOT / "target/release/mcp-aql-aggregator").resolve()
    # The path has a fixed length, because results contain paths.
    home = Path(tempfile.gettempdir()).resolve() / f"home-{os.getpid():07}"
    home.mkdir()
    try:
        everything, inspector = programs(home / "bin", command)
        env = {name: value for name, value in os.environ.items() if not name.startswith("MCP_AQL")}
        env |= {"PATH": f"{home / 'bin'}:{env['PATH']}", "HOME": str(home), "COLUMNS": "100", "LANG": "C.UTF-8",
                "MCP_CATALOG_PATH": str(home / "catalog.json"), "MCP_CLIENT_CONFIG_PATH": str(home / "client.json")}
        data(home, env)
        inspect = [third_party.node(), inspector / "clients" / "launcher" / "build" / "index.js", "--cli", "--stored-auth-only"]
        serve = [command, "serve", "--config", home / "servers.json"]
        with foreign.OverHttp(everything) as url:
            env["EVERYTHING_PORT"] = re.search(r":(\d+)/", url)[1]
            text = shown(env, home)
            expected = over_stdio(serve, env, home)
            over_http(serve, env, home, inspect, expected)
            operations(serve, env, home)
        page = CHAPTER.read_text()
        if "--write" in sys.argv:
            CHAPTER.write_text(BLOCK.sub(lambda _: text, page))
        else:
            compare(page, text)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
