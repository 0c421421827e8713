#!/usr/bin/env python3
"""Connects an agent to examples/guard with MCP's SDK for Python, and an operator with Chromium.

    scripts/guard.py [--picture FILE] [GUARD]      default: target/release/examples/guard

The agent is approved, works, pauses, is blocked, and continues after it has sent the code that the operator reads in
the console. Everything else is searched for the codes: the messages that the client received, standard error with the
most verbose log level, the audit log and the store. `--picture` writes a screenshot of the console. Exits with 1 at
the first failed check.

Requires the same programs as scripts/console.py, and python3 with venv.
"""

import argparse
import json
import subprocess
import tempfile
import threading
from pathlib import Path

import console
import third_party
from clients import MODES, Sdk
from testing import ROOT, check

# In seconds, for what the person does.
LIMIT = 180
# Copies standard output on its way to the client, and standard error.
OVERHEARD = 'heard=$1; shift; "$@" 2> "$heard/stderr" | tee "$heard/stdout"'


class Person:
    """An operator at the console, who uses only the browser."""

    def __init__(self, link, browser, node, playwright):
        script = ROOT / "scripts" / "guard.mjs"
        self.process = subprocess.Popen(
            [node, script, link, browser, playwright],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        # A browser that hangs is killed, which ends the reads.
        self.limit = threading.Timer(LIMIT, self.process.kill)
        self.limit.start()

    def does(self, what, **details):
        print(json.dumps({"what": what, **details}), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        check(answer, f"the person can: {what} {details}", "the browser is gone")
        return json.loads(answer)["answer"]

    def leaves(self):
        self.limit.cancel()
        self.process.stdin.close()
        return self.process.wait(30)


class Agent:
    """An agent, acting through its client."""

    def __init__(self, client, name):
        self.client, self.name = client, name

    def reply(self, operation, **params):
        arguments = {"operation": operation, "params": params}
        result = self.client.call("guard_mcp_aql", arguments)["result"]
        return json.loads(result["content"][0]["text"])

    def data(self, operation, **params):
        reply = self.reply(operation, **params)
        check(reply["success"], f"{self.name}: {operation} succeeds", reply)
        return reply["data"]

    def begin(self, **parameters):
        return self.data("execute_agent", element_name=self.name, parameters=parameters)

    def report(self, action, **more):
        return self.data(
            "record_execution_step", element_name=self.name, next_action_hint=action, **more)

    def passes(self, action, **more):
        step = self.report(action, **more)
        check(step["autonomy"]["continue"], f"{self.name}: `{action}` passes", step)

    def pauses(self, action):
        autonomy = (self.report(action))["autonomy"]
        paused = not autonomy["continue"] and not autonomy.get("stopped")
        check(paused, f"{self.name}: `{action}` pauses", autonomy)

    def blocked(self, operation, **params):
        reply = self.reply(operation, **params)
        details = reply.get("error", {}).get("details", {})
        check(details.get("reason") == "blocked", f"{self.name}: {operation} is refused", reply)


def talk(client, person, picture):
    """Enters the displayed codes for a challenge."""
    docs, deployer, tidy = (Agent(client, name) for name in ("release-notes", "deployer", "tidy-up"))
    tasks = (
        (docs, {"task": "Write the release notes of 2.4"}),
        (deployer, {"task": "Bring 2.4 to the staging environment"}),
        (tidy, {"task": "Make room on the build server"}),
    )
    for agent, parameters in tasks:
        begun = agent.begin(**parameters)
        check(begun["status"] == "pending", "nobody begins alone", begun)
        agent.pauses("read_file README.md")
        person.does("approve", agent=agent.name)
    done = {"outcome": "success"}
    docs.passes("list_commits v2.3..v2.4")
    docs.passes("read_file CHANGELOG.md", **done)
    docs.passes("search_issues 'milestone 2.4'", **done)
    deployer.passes("get_status staging")
    tidy.passes("list_files /srv/builds")
    tidy.passes("read_file /srv/builds/RETENTION.md", **done)

    # A pause, and a code that is passed to the agent.
    push = "git push origin release-2.4"
    docs.pauses(push)
    confirm = person.does("code", agent=docs.name)
    docs.data("confirm_operation", confirmation_token=confirm)
    docs.passes(push)
    deployer.pauses("deploy_service checkout --env staging --version 2.4.0")

    # A block.
    stop = tidy.report("rm -rf /srv/builds/archive", outcome="success")
    check(stop["autonomy"].get("stopped") is True, "what is denied stops", stop)
    told = [note.get("metadata", {}) for note in stop["autonomy"]["notifications"]]
    challenge = next(note["verificationId"] for note in told if "verificationId" in note)
    blocks = person.does("blocks", count=1)
    check(blocks == [tidy.name], "the person sees the block", blocks)
    if picture:
        person.does("picture", path=str(picture))
    tidy.blocked("record_execution_step", element_name=tidy.name, next_action_hint="read_file a")
    tidy.blocked("execute_agent", element_name=tidy.name)
    other = Agent(client, "somebody-else")
    other.blocked("execute_agent", element_name=other.name)

    code = person.does("code", agent=tidy.name)
    tidy.data("verify_challenge", challenge_id=challenge, code=code)
    again = tidy.reply("verify_challenge", challenge_id=challenge, code=code)
    check(not again["success"], "a code is good once", again)
    blocks = person.does("blocks", count=0)
    check(blocks == [], "the block is gone", blocks)
    tidy.passes("list_files /srv/builds")
    tidy.data("complete_execution", element_name=tidy.name, summary="Nothing was deleted")
    return [confirm, code], challenge


def who_allowed(log):
    """Answers from the audit log who allowed the push, and what ran."""
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    allowed = [each for each in entries
               if each["event"] == "CHALLENGE_VERIFIED" and "git push" in each.get("action", "")]
    check([each.get("operator") for each in allowed] == ["ada"], "ada allowed the push", allowed)
    ran = [each for each in entries
           if each["event"] == "STEP_EVALUATED" and each["outcome"] == "allowed"
           and each.get("challenge_id") == allowed[0]["challenge_id"]]
    check([each["action"] for each in ran] == ["git push origin release-2.4"], "and this ran", ran)


def links(guard, state):
    """Returns the output of the operator's command."""
    printed = subprocess.run(
        [guard, "--state", state, "console", "--name", "ada"], check=True, capture_output=True, text=True).stdout
    return [word for word in printed.split() if "/login?once=" in word]


def day(sdk, guard, mode, picture, tools):
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        server = ["sh", "-c", OVERHEARD, "sh", folder, "env", "MCP_AQL_LOG=trace", guard, "--state", state]
        with sdk.open(server, mode=mode) as client:
            client.ask("tools")
            (link,) = links(guard, state)
            person = Person(link, *tools)
            try:
                codes, challenge = talk(client, person, picture)
            finally:
                ended = person.leaves()
        check(ended == 0, "the console makes no complaint", ended)
        who_allowed(state / "audit.jsonl")
        files = [Path(folder) / "stdout", Path(folder) / "stderr", *state.iterdir()]
        check(len({file.name for file in files} & {"stdout", "stderr", "state.db", "audit.jsonl"}) == 4,
              "everything that is searched is there", files)
        for file in files:
            text = file.read_bytes()
            if file.name in ("stdout", "stderr", "audit.jsonl"):
                check(challenge.encode() in text, "what was told is found", file.name)
            for code in codes:
                check(len(code) > 40, "a code is long", len(code))
                for form in (code, code.replace("-", "")):
                    check(form.encode() not in text, "no code is anywhere but in the console", file.name)
            check(b"once=" not in text, "nor is a login link", file.name)
    print(f"ok: {mode}: approved, paused, blocked, and released by a code that only the console showed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("guard", nargs="?", type=Path, default=ROOT / "target/release/examples/guard")
    options = parser.parse_args()
    tools = console.chromium(), third_party.node(), third_party.npm(*console.PLAYWRIGHT)
    with Sdk("Python", 2) as sdk:
        for mode in MODES:
            picture = options.picture.resolve() if options.picture and mode == MODES[0] else None
            day(sdk, options.guard.resolve(), mode, picture, tools)


if __name__ == "__main__":
    main()
