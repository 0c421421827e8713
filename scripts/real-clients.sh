#!/usr/bin/env bash
# Drives a built examples/tasks with third-party MCP clients: the Python SDK (PyPI `mcp`) and MCP Inspector's command
# line (npm), each over standard input and output and over HTTP. Then signs in over HTTP with the Python SDK, the
# TypeScript SDK (npm) and the Inspector, whose users are asked for confirmations.
#
#   scripts/real-clients.sh [ADAPTER]      default: target/release/examples/tasks
#
# Installs the clients under target/clients on the first run. Requires python3 with venv, node and npm. If node is too
# old for the Inspector, a newer one is installed from npm as well. Fails at the first unexpected reply.
set -euo pipefail
cd "$(dirname "$0")/.."
adapter=$(realpath "${1:-target/release/examples/tasks}")
inspector=2.12.0
typescript_sdk=2.4.0

work=$(mktemp -d)
server=
stop() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap stop EXIT

python=$(scripts/sdk.py)

# The Inspector and a suitable Node.
found=$(scripts/npm.py @modelcontextprotocol/inspector "$inspector")
node=$(head -n 1 <<< "$found")
inspector_folder=$(tail -n 1 <<< "$found")
launcher=$inspector_folder/clients/launcher/build/index.js
# The Inspector writes files, which must not go to the user's home.
export MCP_CATALOG_PATH=$work/catalog.json MCP_CLIENT_CONFIG_PATH=$work/client.json

inspect() { # ARGUMENT...
  PATH="$(dirname "$(command -v "$node")"):$PATH" timeout 120 "$node" "$launcher" --cli \
    --stored-auth-only --format json "$@"
}

# Makes one call with the Inspector. A Python expression must hold for the reply.
expect() { # WHAT EXPRESSION ARGUMENT...
  local what=$1 expression=$2 output
  shift 2
  output=$(inspect "$@") || { echo "FAILED: $what: the Inspector ended with $?"; echo "$output"; exit 1; }
  printf '%s' "$output" | "$python" -c '
import json, sys
what, expression = sys.argv[1:]
answer = json.loads(sys.stdin.read())
answer = answer.get("result", answer)
text = answer.get("content", [{}])[0].get("text")
reply = json.loads(text) if text else None
names = {"answer": answer, "reply": reply}
if not eval(expression, names):
    sys.exit(f"FAILED: {what}: not {expression}\n  seen: {json.dumps(reply or answer)}")
' "$what" "$expression"
}

inspector_tour() { # LABEL TRANSPORT-ARGUMENT...  ; what follows -- is the server's command
  local label=$1 target=() tail=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do target+=("$1"); shift; done
  tail=("$@")
  call() { # WHAT EXPRESSION TOOL ARGUMENTS
    expect "$1" "$2" "${target[@]}" --method tools/call --tool-name "$3" --tool-args-json "$4" "${tail[@]}"
  }
  expect "the tools" '{t["name"] for t in answer["tools"]} == {"mcp_aql_" + f for f in ("create", "read", "update", "delete", "execute")}' \
    "${target[@]}" --method tools/list "${tail[@]}"
  call "create" 'reply["data"]["task"]["title"] == "Inspect it"' mcp_aql_create \
    '{"operation":"create_task","params":{"title":"Inspect it"}}'
  # Each call of the Inspector is a connection of its own, and over stdio a process of its own.
  local id
  id=$("$adapter" --db "$work/$label.db" call search_tasks '{"query":"inspect"}' |
    "$python" -c 'import json, sys; print(json.load(sys.stdin)["data"]["items"][0]["task_id"])')
  call "read" 'reply["data"]["task"]["status"] == "todo"' mcp_aql_read \
    "{\"operation\":\"get_task\",\"params\":{\"task_id\":\"$id\"}}"
  call "update" 'reply["data"]["task"]["status"] == "doing" and reply["data"]["task"]["title"] == "Inspect it"' mcp_aql_update \
    "{\"operation\":\"update_task\",\"params\":{\"task_id\":\"$id\",\"input\":{\"status\":\"doing\"}}}"
  call "introspect" 'len(reply["data"]["operations"]) >= 7' mcp_aql_read \
    '{"operation":"introspect","params":{"query":"operations"}}'
  call "a refusal" 'reply["error"]["code"] == "VALIDATION_UNKNOWN_PARAM" and not answer.get("isError")' mcp_aql_read \
    '{"operation":"list_tasks","params":{"frist":1}}'
  echo "ok: MCP Inspector, $label"
}

serve() { # DATABASE OPTION... ; sets `url`
  local database=$1
  shift
  "$adapter" --db "$database" "$@" serve --http 127.0.0.1:0 2> "$work/server.log" &
  server=$!
  for _ in $(seq 100); do
    url=$(grep -o 'http://127.0.0.1:[0-9]*/mcp' "$work/server.log" | head -n 1 || true)
    [ -z "$url" ] || return 0
    kill -0 "$server" 2>/dev/null || { echo "FAILED: the server ended"; cat "$work/server.log"; exit 1; }
    sleep 0.1
  done
  echo "FAILED: the server does not say where it listens"; cat "$work/server.log"; exit 1
}

"$python" scripts/real_client.py "$adapter" --db "$work/python.db"
inspector_tour stdio --transport stdio -- "$adapter" --db "$work/stdio.db"
serve "$work/http.db"
"$python" scripts/real_client.py "$url"
inspector_tour http --transport http --server-url "$url"
kill "$server"
wait "$server" 2> /dev/null || true

token=$(head -c 32 /dev/urandom | base64 -w 0 | tr '+/' '-_')
{
  echo '[[auth.tokens]]'
  echo "sha256 = \"$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)\""
  echo 'subject = "ada"'
  echo 'scopes = ["tasks:read", "tasks:create", "tasks:delete"]'
} > "$work/auth.toml"
serve "$work/user.db" --config "$work/auth.toml"
"$python" scripts/user_client.py "$url" "$token"
sdk=$(scripts/npm.py @modelcontextprotocol/client "$typescript_sdk" | tail -n 1)
"$node" scripts/user_client.mjs "$sdk" "$url" "$token"
signed_in=(--transport http --server-url "$url" --header "Authorization: Bearer $token")
expect "the tools of the user" '{t["name"] for t in answer["tools"]} == {"mcp_aql_create", "mcp_aql_read", "mcp_aql_delete"}' \
  "${signed_in[@]}" --method tools/list
"$python" scripts/user_inspector.py "$node" "$inspector_folder" "$url" "$token"
echo "7 passed, 0 failed"
