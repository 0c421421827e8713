#!/usr/bin/env python3
"""Checks the page of metrics of two adapters under load, and the dashboard with a real Prometheus.

    scripts/metrics.py TASKS GUARD [--seconds N] [--pictures DIR]

TASKS and GUARD are the programs of the examples. They are called for N seconds, 25 by default. Checks that

- the page is accepted by promtool, and by Prometheus' client library for Python;
- no text that only a caller knows becomes a label, and the number of series is bounded;
- each query of the dashboard names metrics that exist, and has data.

`--pictures` draws the panels of the dashboard with the data of Prometheus, and takes screenshots of this page in
Chromium at 1280 and 390 pixels. Grafana itself is not used.

Prometheus is Debian's package, which is unpacked under target/clients, unless `prometheus` and `promtool` are on PATH.
"""

import argparse
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import third_party
from testing import ROOT, free_port

DASHBOARD = ROOT / "book" / "src" / "dashboards" / "grafana.json"
PARSER = "prometheus_client==0.23.1"
LIMIT_SECONDS = 120
MAX_SERIES = 2_000
SECRET = "name_of_a_caller"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def prometheus():
    """Returns the paths of prometheus and promtool."""
    found = shutil.which("prometheus"), shutil.which("promtool")
    if all(found):
        return found
    home = third_party.CLIENTS / "prometheus"
    programs = home / "usr" / "bin" / "prometheus", home / "usr" / "bin" / "promtool"
    if not all(program.exists() for program in programs):
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], check=True, cwd=home, stdout=sys.stderr)
        package = next(home.glob("prometheus_*.deb"))
        subprocess.run(["dpkg-deb", "--extract", package, home], check=True)
        package.unlink()
    return programs


class Served:
    """An adapter that serves MCP and metrics."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addresses = {}
        for line in self.process.stderr:
            if found := re.match(r"(MCP|Metrics) on http://([\d.:]+)/", line):
                self.addresses[found[1]] = found[2]
            if len(self.addresses) == 2:
                break
        else:
            sys.exit(f"{command[0]} has not started")
        # Its log is read, so that it does not wait for a reader.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def page(self):
        with urllib.request.urlopen(f"http://{self.addresses['Metrics']}/metrics", timeout=LIMIT_SECONDS) as reply:
            assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", reply.headers
            return reply.read().decode()

    def end(self):
        self.process.terminate()
        self.process.wait(LIMIT_SECONDS)


class Session:
    """A session of a client."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=LIMIT_SECONDS)
        self.headers = dict(HEADERS)
        self.number = 0
        reply = self.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                         "clientInfo": {"name": "load", "version": "1"}})
        self.headers["Mcp-Session-Id"] = reply.headers["Mcp-Session-Id"]
        self.send("notifications/initialized", None)

    def send(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if params is None:
            del message["params"]
        else:
            message["id"] = self.number
        self.connection.request("POST", "/mcp", json.dumps(message), self.headers)
        reply = self.connection.getresponse()
        reply.text = reply.read().decode()
        return reply

    def call(self, tool, operation, **params):
        """Returns the reply of the operation."""
        reply = self.send("tools/call", {"name": tool, "arguments": {"operation": operation, "params": params}})
        text = re.search(r"^(?:data: )?(\{.*\})$", reply.text, re.M)
        return json.loads(json.loads(text[1])["result"]["content"][0]["text"]) if text else {}

    def end(self):
        self.connection.request("DELETE", "/mcp", headers=self.headers)
        self.connection.getresponse().read()


def use_tasks(address, stop):
    """Calls operations of `tasks`: reads, changes, mistakes, confirmations and executions."""
    while not stop.is_set():
        session = Session(address)
        for number in range(20):
            created = session.call("mcp_aql_create", "create_task", title=f"Task {number}")
            identifier = created.get("data", {}).get("task_id", "none")
            session.call("mcp_aql_read", "get_task", task_id=identifier)
            session.call("mcp_aql_read", "list_tasks")
            session.call("mcp_aql_read", "get_task", task_id=f"t-{SECRET}")
            session.call("mcp_aql_read", SECRET)
            session.call("mcp_aql_execute", "execute_export", format="csv")
            asked = session.call("mcp_aql_delete", "delete_task", task_id=identifier)
            token = asked.get("error", {}).get("details", {}).get("confirmation_token", "none")
            session.call("mcp_aql_delete", "delete_task", task_id=identifier, _confirmation=token)
            if stop.is_set():
                return
        session.end()


def use_guard(address):
    """Has an action that waits for an operator, and one that blocks its agent."""
    session = Session(address)
    for number, action in enumerate(("git push origin main", "rm -rf /")):
        agent = f"agent-{number}"
        session.call("guard_mcp_aql", "execute_agent", element_name=agent, parameters={"task": "metrics"})
        session.call("guard_mcp_aql", "record_execution_step", element_name=agent, next_action_hint=action)


def check_page(page, promtool, python):
    """Checks the format and the labels of a page."""
    subprocess.run([promtool, "check", "metrics"], input=page, text=True, check=True)
    parse = "import sys\nfrom prometheus_client.parser import text_string_to_metric_families as parse\n" \
            "print(sum(len(family.samples) for family in parse(sys.stdin.read())))"
    parsed = subprocess.run([python, "-c", parse], input=page, text=True, check=True, capture_output=True)
    series = int(parsed.stdout)
    if not 0 < series < MAX_SERIES:
        sys.exit(f"the page has {series} series")
    if SECRET in page:
        sys.exit("the page contains a text of a caller")
    print(f"a page of {len(page):,} bytes with {series} series is well-formed")


class Prometheus:
    """A Prometheus that reads the pages of adapters every second."""

    def __init__(self, program, addresses, folder):
        config = {"global": {"scrape_interval": "1s"},
                  "scrape_configs": [{"job_name": "mcp-aql", "static_configs": [{"targets": addresses}]}]}
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self.address = f"127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={self.address}", "--log.level=error"])
        self.begun = time.time()

    def query(self, expression):
        """Returns the series of an expression since the start."""
        values = {"query": expression, "start": self.begun, "end": time.time(), "step": 1}
        address = f"http://{self.address}/api/v1/query_range?{urllib.parse.urlencode(values)}"
        try:
            with urllib.request.urlopen(address, timeout=LIMIT_SECONDS) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{expression}: {error.read().decode()}")

    def wait(self):
        """Waits until it answers."""
        limit = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < limit:
            try:
                return urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5).close()
            except OSError:
                time.sleep(0.2)
        sys.exit("Prometheus does not start")

    def end(self):
        self.process.terminate()
        self.process.wait(LIMIT_SECONDS)


def panels():
    """Returns the panels of the dashboard with their queries, as Grafana would send them for all processes."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        queries = []
        for target in panel.get("targets", []):
            expression = target["expr"]
            for variable, value in (("$__rate_interval", "10s"), ("$instance", ".*"), ("$adapter", ".*")):
                expression = expression.replace(variable, value)
            queries.append((expression, target["legendFormat"]))
        yield panel, queries


def check_dashboard(server, pages):
    """Checks each query of the dashboard. Returns the panels with their data."""
    shown, problems = [], []
    known = set(re.findall(r"^(mcp_aql_\w+)[{ ]", pages, re.M))
    for panel, queries in panels():
        data = []
        for expression, legend in queries:
            if unknown := set(re.findall(r"mcp_aql_\w+", expression)) - known:
                problems.append(f"{panel['title']}: no page has {', '.join(unknown)}")
            series = server.query(expression)
            if not series:
                problems.append(f"{panel['title']}: no data for {expression}")
            data.append((legend, series))
        shown.append((panel, data))
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sum(len(data) for _, data in shown)} queries of the dashboard have data")
    return shown


def run(options, folder):
    program, promtool = prometheus()
    python = third_party.pypi("metrics", PARSER) / "python"
    config = folder / "mcp-aql.toml"
    # So few that a slow machine reaches the limit as well.
    config.write_text("[gatekeeper]\nconfirmations_per_minute = 3\n")
    serve = ["serve", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    served = [Served([options.tasks, "--db", folder / "tasks.db", "--config", config, *serve]),
              Served([options.guard, "--state", folder / "guard", *serve])]
    server = Prometheus(program, [each.addresses["Metrics"] for each in served], folder)
    stop = threading.Event()
    clients = [threading.Thread(target=use_tasks, args=(served[0].addresses["MCP"], stop)) for _ in range(4)]
    try:
        server.wait()
        use_guard(served[1].addresses["MCP"])
        for client in clients:
            client.start()
        # The adapters are still used while the queries run.
        stop.wait(options.seconds)
        pages = [each.page() for each in served]
        for page in pages:
            check_page(page, promtool, python)
        shown = check_dashboard(server, "\n".join(pages))
    finally:
        stop.set()
        for client in clients:
            if client.is_alive():
                client.join()
        server.end()
        for each in served:
            each.end()
    if options.pictures:
        import dashboard
        dashboard.draw(shown, options.pictures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("guard", type=Path)
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--pictures", type=Path, help="puts screenshots there")
    options = parser.parse_args()
    options.tasks, options.guard = options.tasks.resolve(), options.guard.resolve()
    with tempfile.TemporaryDirectory() as folder:
        run(options, Path(folder))


if __name__ == "__main__":
    main()
