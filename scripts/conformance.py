#!/usr/bin/env python3
"""Runs MCP's own conformance suite (npm `@modelcontextprotocol/conformance`) against a built adapter.

    scripts/conformance.py [ADAPTER]      default: target/release/examples/tasks

Starts the adapter over HTTP on a free loopback port and runs every server scenario of the suite, once for each
version of MCP that the suite supports completely. A scenario must pass, or be listed below as not applicable, with a
reason. The reasons are verified first, by querying the adapter. Exits with 1 for any other scenario, so that those of a
newer suite are reviewed, and for an excused scenario that passes.

Requires node and npm. The suite is installed under target/clients on the first run.
"""

import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import third_party
from testing import built, served

SUITE = "@modelcontextprotocol/conformance", "0.2.0-alpha.12"
SESSIONS, STATELESS = VERSIONS = "2025-11-25", "2026-07-28"

# The reason why a scenario, or one of its checks, does not apply. For features that are not offered, the methods that
# a client would call: each must be answered with -32601.
PROMPTS = "prompts are not offered"
RESOURCES = "resources are not offered"
COMPLETION = "completion is not offered"
LOGGING = "logging is not offered"
FIXTURE = "calls a tool of the suite's own"
HEADERS = "no parameter is asked for as an HTTP header"
EXTENSION = "the extension is not declared"
SUBSCRIPTIONS = "subscriptions are not offered"
REFUSED = {
    PROMPTS: ["prompts/list", "prompts/get"],
    RESOURCES: ["resources/list", "resources/templates/list", "resources/read", "resources/subscribe"],
    COMPLETION: ["completion/complete"],
    LOGGING: ["logging/setLevel"],
    SUBSCRIPTIONS: ["subscriptions/listen"],
}

NOT_APPLICABLE = {
    "completion-complete": COMPLETION,
    "elicitation-sep1034-defaults": FIXTURE,
    "elicitation-sep1330-enums": FIXTURE,
    "http-custom-header-server-validation": HEADERS,
    "input-required-result-basic-elicitation": FIXTURE,
    "input-required-result-basic-list-roots": FIXTURE,
    "input-required-result-basic-sampling": FIXTURE,
    "input-required-result-capability-check": FIXTURE,
    "input-required-result-ignore-extra-params": FIXTURE,
    "input-required-result-missing-input-response": FIXTURE,
    "input-required-result-multi-round": FIXTURE,
    "input-required-result-multiple-input-requests": FIXTURE,
    "input-required-result-non-tool-request": PROMPTS,
    "input-required-result-request-state": FIXTURE,
    "input-required-result-result-type": FIXTURE,
    "input-required-result-tampered-state": FIXTURE,
    "input-required-result-validate-input": FIXTURE,
    "json-schema-2020-12": FIXTURE,
    "logging-set-level": LOGGING,
    "prompts-get-embedded-resource": PROMPTS,
    "prompts-get-simple": PROMPTS,
    "prompts-get-with-args": PROMPTS,
    "prompts-get-with-image": PROMPTS,
    "prompts-list": PROMPTS,
    "resources-list": RESOURCES,
    "resources-read-binary": RESOURCES,
    "resources-read-text": RESOURCES,
    "resources-subscribe": RESOURCES,
    "resources-templates-read": RESOURCES,
    "resources-unsubscribe": RESOURCES,
    "sep-2164-resource-not-found": RESOURCES,
    "sep-2640-skills-directory": EXTENSION,
    "sep-2640-skills-enumeration": EXTENSION,
    "sep-2640-skills-manifest": EXTENSION,
    "tasks-lifecycle": FIXTURE,
    "tasks-mrtr-composition": FIXTURE,
    "tasks-mrtr-input": FIXTURE,
    "tasks-request-state-removal": FIXTURE,
    "tasks-required-task-error": FIXTURE,
    "tasks-status-notifications": SUBSCRIPTIONS,
    "tasks-wire-fields": FIXTURE,
    "tools-call-audio": FIXTURE,
    "tools-call-elicitation": FIXTURE,
    "tools-call-embedded-resource": FIXTURE,
    "tools-call-error": FIXTURE,
    "tools-call-image": FIXTURE,
    "tools-call-mixed-content": FIXTURE,
    "tools-call-sampling": FIXTURE,
    "tools-call-simple-text": FIXTURE,
    "tools-call-with-logging": FIXTURE,
    "tools-call-with-progress": FIXTURE,
}
# Any error is a correct answer here. The adapter answers that the tool does not exist.
PASSES_ON_NOTHING = {"input-required-result-validate-input"}
# A passing scenario may omit these checks, and no others.
CHECKS_NOT_APPLICABLE = {
    "caching": {
        "sep-2549-prompts-list-caching-hints": PROMPTS,
        "sep-2549-resources-list-caching-hints": RESOURCES,
        "sep-2549-resources-templates-list-caching-hints": RESOURCES,
    },
    "server-sse-polling": {"server-sse-disconnect-resume": FIXTURE},
    "server-stateless": {
        "sep-2575-http-server-no-independent-requests-on-stream": FIXTURE,
        "sep-2575-missing-capability-http-400": FIXTURE,
        "sep-2575-server-no-log-without-loglevel": FIXTURE,
        "sep-2575-server-rejects-undeclared-capability": FIXTURE,
    },
}
# The scenarios of a declared extension that test something without the suite's own tools.
OF_EXTENSION = {
    "tasks-capability-negotiation": {
        "sep-2663-server-rejects-undeclared-client": FIXTURE,
        "tasks-per-request-meta-opt-in": FIXTURE,
    },
    "tasks-dispatch-and-envelope": {
        "sep-2663-durable-create-strong-consistency": FIXTURE,
        "sep-2663-legacy-task-param-ignored": FIXTURE,
        "tasks-immediate-result-shortcut": FIXTURE,
        "tasks-result-type-complete-on-non-task-responses": FIXTURE,
        "tasks-server-directed-creation-no-hint": FIXTURE,
    },
    "tasks-request-headers": {
        "sep-2663-routing-headers-accepted-on-tasks-get": FIXTURE,
        "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get": FIXTURE,
        "tasks-headers-tolerate-mcp-method-on-tools-call": FIXTURE,
    },
}
CHECKS_NOT_APPLICABLE |= OF_EXTENSION
# The suite adds this check to most scenarios: every message was well-formed.
WELL_FORMED = "wire-schema-valid"


class Client:
    """Queries the adapter for the facts that the reasons rely on."""

    def __init__(self, url, version):
        self.url, self.version, self.session = url, version, None
        who = {"name": "conformance", "version": "1"}
        if version == SESSIONS:
            self.hello = self.ask("initialize", {
                "protocolVersion": version, "capabilities": {}, "clientInfo": who})["result"]
        else:
            self.meta = {f"io.modelcontextprotocol/{name}": value for name, value in [
                ("protocolVersion", version), ("clientInfo", who), ("clientCapabilities", {})]}
            self.hello = self.ask("server/discover", {})["result"]

    def ask(self, method, params):
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": self.version}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.version != SESSIONS:
            headers["Mcp-Method"] = method
            for name in ("name", "uri"):
                if name in params:
                    headers["Mcp-Name"] = params[name]
            params = {**params, "_meta": self.meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            self.session = answer.headers.get("Mcp-Session-Id", self.session)
            text = answer.read().decode()
        # A single message, as a body or as an event.
        lines = [line.removeprefix("data:").strip() for line in text.splitlines()]
        return next(json.loads(line) for line in lines if line.startswith("{"))


def doubts(url):
    """Returns the facts that contradict the reasons."""
    for version in VERSIONS:
        client = Client(url, version)
        capabilities = client.hello["capabilities"]
        tasks = "tasks" if version == SESSIONS else "extensions"
        for name in capabilities.keys() - {"tools", tasks}:
            yield f"{version}: the adapter declares `{name}`"
        for name in capabilities.get("extensions", {}).keys() - {"io.modelcontextprotocol/tasks"}:
            yield f"{version}: the adapter declares the extension `{name}`"
        tools = client.ask("tools/list", {})["result"]["tools"]
        for name in (tool["name"] for tool in tools):
            if not name.startswith("mcp_aql_"):
                yield f"{version}: the adapter has a tool `{name}`"
        if "x-mcp-header" in json.dumps(tools):
            yield f"{version}: a parameter is asked for as an HTTP header"
        params = {
            "prompts/get": {"name": "x"},
            "logging/setLevel": {"level": "info"},
            "subscriptions/listen": {"notifications": {"taskIds": ["x"]}},
            "completion/complete": {
                "ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": ""}},
        }
        for reason, methods in REFUSED.items():
            for method in methods:
                others = {} if method.endswith("/list") else {"uri": "test://x"}
                answer = client.ask(method, params.get(method, others))
                if answer.get("error", {}).get("code") != -32601:
                    yield f"{version}: {reason}, but {method} got {json.dumps(answer)[:200]}"


class Suite:
    def __init__(self):
        self.program = [third_party.node(), third_party.npm(*SUITE) / "dist" / "index.js"]

    def scenarios(self, *arguments):
        listed = subprocess.run([*self.program, "list", "--server", *arguments], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        return re.findall(r"^  - (\S+) \[", listed, re.MULTILINE)

    def run(self, url, folder, *which):
        """Returns the checks of these scenarios. The suite exits with 1 for scenarios that do not apply, too."""
        subprocess.run(
            [*self.program, "server", "--url", url, *which, "-o", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600,
        )
        stamp = re.compile(r"^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$")
        return {
            stamp.match(file.parent.name)[1]: json.loads(file.read_text())
            for file in Path(folder).glob("*/checks.json")
        }


def judge(scenario, checks):
    """Returns the result of a scenario and its reason: `FAILED` unless every check is as expected."""
    if not checks:
        return "FAILED", "gave no result"
    unmet = {check["id"]: f"{check['id']}: {check.get('errorMessage')}"
             for check in checks if check["status"] in ("FAILURE", "WARNING")}
    if reason := NOT_APPLICABLE.get(scenario):
        if WELL_FORMED in unmet:
            return "FAILED", unmet[WELL_FORMED]
        if not unmet and scenario not in PASSES_ON_NOTHING:
            return "FAILED", f"passes, and is excused: {reason}"
        return "n/a", reason
    excused = CHECKS_NOT_APPLICABLE.get(scenario, {})
    if faults := [text for check, text in unmet.items() if check not in excused]:
        return "FAILED", "; ".join(faults)
    if needless := excused.keys() - unmet.keys():
        return "FAILED", f"passes, and is excused: {', '.join(sorted(needless))}"
    met = sum(check["status"] == "SUCCESS" and check["id"] != WELL_FORMED for check in checks)
    if not met:
        return "FAILED", "nothing was checked"
    aside = Counter(excused[check] for check in unmet)
    aside["left out by the suite"] = sum(check["status"] == "SKIPPED" for check in checks)
    notes = [f"{count} n/a: {reason}" for reason, count in aside.items() if count]
    return "passed", "; ".join([f"{met} {'check' if met == 1 else 'checks'}", *notes])


def main():
    adapter = built("examples/tasks")
    suite = Suite()
    everything = suite.scenarios()
    listed = {version: suite.scenarios("--spec-version", version) for version in VERSIONS}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with served([adapter, "--db", folder / "tasks.db", "serve"], folder / "server.log") as (url, _):
            faults = list(doubts(url))
            results = {version: suite.run(url, folder / version, "--suite", "all", "--spec-version", version)
                       for version in VERSIONS}
            extensions = folder / "extensions"
            of_extension = [suite.run(url, extensions, "--scenario", scenario) for scenario in OF_EXTENSION][-1]

    counts = dict.fromkeys(["passed", "FAILED", "n/a"], 0)
    for version in VERSIONS:
        print(f"MCP {version}")
        for scenario in listed[version]:
            outcome, why = judge(scenario, results[version].get(scenario))
            counts[outcome] += 1
            print(f"  {scenario:46} {outcome:7} {why}")
        faults += [f"{version}: {name} is not in the suite's list"
                   for name in results[version].keys() - set(listed[version])]
    print("extensions of MCP")
    for scenario in everything:
        if not any(scenario in names for names in listed.values()):
            if scenario in OF_EXTENSION:
                outcome, why = judge(scenario, of_extension.get(scenario))
            elif why := NOT_APPLICABLE.get(scenario):
                outcome = "n/a"
            else:
                outcome, why = "FAILED", "neither passes nor is excused"
            counts[outcome] += 1
            print(f"  {scenario:46} {outcome:7} {why}")
    faults += [f"excused, and not in the suite: {name}"
               for name in (NOT_APPLICABLE.keys() | CHECKS_NOT_APPLICABLE.keys()) - set(everything)]

    for fault in faults:
        print(f"FAILED: {fault}")
    failed = counts["FAILED"] + len(faults)
    print(f"{counts['passed']} passed, {failed} failed, {counts['n/a']} not applicable")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
