// Makes calls over HTTP with MCP's SDK for TypeScript, of either major version, while scripts/resumption.py breaks the
// connections.
//
//     node resumption_client.mjs PACKAGE CALLS
//
// PACKAGE is the folder of the package. For CALLS and the output see resumption_client.py.
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, calls] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/dist/${path}`));
const { Client, StreamableHTTPClientTransport } = existsSync(`${folder}/dist/esm`)
  ? { ...(await load("esm/client/index.js")), ...(await load("esm/client/streamableHttp.js")) }
  : await load("index.mjs");

let start;
const go = new Promise((resolve) => (start = resolve));

async function reply(client, family, operation, params) {
  const result = await client.callTool({ name: `mcp_aql_${family}`, arguments: { operation, params } });
  return JSON.parse(result.content[0].text);
}

// Opens the session of a call. Returns the function that makes the call.
async function opened({ name, url, title, waits }) {
  const client = new Client({ name: "resumption", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  let operation = ["create", "create_task", { title }];
  if (waits) {
    const { data } = await reply(client, "execute", "execute_export", { format: "csv" });
    operation = ["read", "get_execution", { execution_id: data.execution_id, wait_seconds: 4 }];
  }
  return async () => {
    await go;
    const ended = await reply(client, ...operation).then(
      (reply) => ({ reply }),
      (error) => ({ error: `${error.name}: ${error.message}` }),
    );
    console.log(JSON.stringify({ name, ...ended }));
  };
}

const ready = await Promise.all(JSON.parse(calls).map(opened));
console.log("ready");
createInterface(process.stdin).once("line", start);
await Promise.all(ready.map((call) => call()));
process.exit(0);
