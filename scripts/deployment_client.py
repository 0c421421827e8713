"""An MCP client over HTTP, for deployment.py."""

import http.client
import json
import ssl

HOST = "tasks.example.org"
# In seconds. Generous: other programs may use the machine.
LIMIT = 60
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def expect(holds, *facts):
    if not holds:
        raise AssertionError(" ".join(map(str, facts)))


class Client:
    """A client of the adapter, with a connection for each request."""

    def __init__(self, port, token, secure=True):
        self.port, self.token, self.secure, self.session = port, token, secure, None

    def request(self, method, body=None, path="/mcp", **headers):
        if self.secure:
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        sent = {"Host": HOST, "Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
        if self.session:
            sent["Mcp-Session-Id"] = self.session
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection.request(method, path, body and json.dumps(body), sent)
        return connection.getresponse()

    def post(self, method, params=None, id=1, **headers):
        """Returns the response's status, its text and its headers."""
        body = {"jsonrpc": "2.0", "method": method, **({"id": id} if id is not None else {})}
        if params is not None:
            body["params"] = params
        response = self.request("POST", body, **headers)
        return response.status, response.read().decode(), response.headers

    def open(self):
        """Opens a session. Returns the status."""
        self.session = None
        status, text, headers = self.post("initialize", INITIALIZE)
        if status == 200:
            self.session = headers["Mcp-Session-Id"]
            expect(self.post("notifications/initialized", id=None)[0] == 202, text)
        return status

    def call(self, tool, operation, params, **headers):
        """Calls an operation. Returns the status and the reply."""
        meta = {}
        if headers:
            meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                              "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                              "io.modelcontextprotocol/clientCapabilities": {}}}
        arguments = {"operation": operation, "params": params}
        status, text, _ = self.post("tools/call", {"name": tool, "arguments": arguments, **meta}, **headers)
        data = [line[5:] for line in text.splitlines() if line.startswith("data:") and "{" in line]
        message = json.loads(data[-1] if data else text) if status == 200 else None
        return status, message and json.loads(message["result"]["content"][0]["text"])

    def create(self, **headers):
        status, reply = self.call("mcp_aql_create", "create_task", {"title": "Ship it"}, **headers)
        expect(status == 200 and reply["success"], "create_task:", status, reply)

    def stateless(self, tool):
        """The headers of MCP 2026-07-28."""
        return {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": tool}

    def count(self):
        """The number of tasks of the process."""
        status, reply = self.call("mcp_aql_read", "list_tasks", {"first": 1}, **self.stateless("mcp_aql_read"))
        expect(status == 200, "list_tasks:", status)
        return reply["data"]["pageInfo"]["totalCount"]

    def first_event(self):
        """Opens the stream of events. Returns its first line, which a proxy must not keep."""
        response = self.request("GET", Accept="text/event-stream")
        expect(response.status == 200, "GET:", response.status)
        return response.readline()
