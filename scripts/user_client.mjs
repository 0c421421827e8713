#!/usr/bin/env node
// Signs in to examples/tasks over HTTP with the MCP SDK for TypeScript, whose user is asked for confirmations.
//
//     user_client.mjs PACKAGE-FOLDER http://127.0.0.1:8787/mcp TOKEN
//
// Once for each lifecycle of MCP, with `initialize` and without (2026-07-28): a request without the token is refused,
// the user declines a deletion, closes the question, and accepts it. Exits with 1 at the first unexpected reply.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, url, token] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const { Client, StreamableHTTPClientTransport } = await import(
  pathToFileURL(require.resolve("@modelcontextprotocol/client")).href
);

function check(condition, message, seen) {
  if (!condition) {
    console.error(`FAILED: ${message}\n  seen: ${JSON.stringify(seen)}`);
    process.exit(1);
  }
}

/// Connects a client that asks its user with `ask`.
async function connect(mode, headers, ask) {
  const versionNegotiation = { mode: mode === "legacy" ? mode : { pin: mode } };
  const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation };
  const client = new Client({ name: "user_client", version: "1.0.0" }, options);
  client.setRequestHandler("elicitation/create", ask);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

async function reply(client, family, operation, params) {
  const call = { name: `mcp_aql_${family}`, arguments: { operation, params } };
  const result = await client.callTool(call);
  return JSON.parse(result.content[0].text);
}

for (const mode of ["legacy", "2026-07-28"]) {
  const anonymous = await connect(mode, {}, () => ({ action: "accept" })).then(
    () => "connected",
    () => undefined,
  );
  check(anonymous === undefined, "a request without a token is refused", anonymous);
  const answers = [];
  const asked = [];
  const client = await connect(mode, { Authorization: `Bearer ${token}` }, (request) => {
    asked.push(request.params.message);
    const action = answers.shift();
    return action === "accept" ? { action, content: {} } : { action };
  });
  const made = await reply(client, "create", "create_task", { title: `Ask first (${mode})` });
  const name = { task_id: made.data.task.task_id };
  for (const [action, answer] of [["decline", "declined"], ["cancel", "cancelled"]]) {
    answers.push(action);
    const refused = await reply(client, "delete", "delete_task", name);
    check(refused.error?.details.user_answer === answer, `the user has ${answer}`, refused);
  }
  answers.push("accept");
  const deleted = await reply(client, "delete", "delete_task", name);
  check(deleted.success === true, "the accepted call runs", deleted);
  const gone = await reply(client, "read", "get_task", name);
  check(gone.error?.code === "NOT_FOUND_RESOURCE", "the task is deleted", gone);
  check(asked.length === 3 && asked.every((it) => it.includes("delete_task")), "three questions", asked);
  await client.close();
  console.log(`ok: TypeScript SDK, ${mode}, signed in and asked, ${url}`);
}
