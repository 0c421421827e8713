#!/usr/bin/env bash
# Installs the conformance runner, tests an adapter and writes the report. `action.yml` describes the variables.
#
#     run.sh FOLDER
set -euo pipefail

folder=$1
mkdir -p "$folder"
npm install --prefix "$folder/npm" --no-audit --no-fund --loglevel=error "mcp-aql-conformance@$VERSION" > /dev/null
runner=$folder/npm/node_modules/.bin/mcp-aql-conformance
report=$folder/conformance

arguments=(test --level "$LEVEL" --format json --output "$report.json")
[ -z "$ALLOW" ] || arguments+=(--allow "$ALLOW")
[ -z "$CONFIG" ] || arguments+=(--config "$CONFIG")
if [ -n "$URL" ]; then
  arguments+=(--url "$URL")
else
  arguments+=(-- sh -c "$COMMAND")
fi
code=0
"$runner" "${arguments[@]}" || code=$?
# Without a report, the command line or the configuration is invalid.
[ -f "$report.json" ] || exit "$code"

"$runner" report "$report.json" --format html --output "$report.html"
"$runner" report "$report.json" --format junit --output "$report.xml"
# Indented lines are code in Markdown, so names of the adapter cannot become markup.
"$runner" report "$report.json" | sed 's/^/    /' >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}"
level=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).conformanceLevel' "$report.json")
echo "level=$level" >> "${GITHUB_OUTPUT:-/dev/stdout}"
if [ "$code" = 2 ] && [ "$ACCEPT_WARNINGS" = true ] && [ "$level" -ge "$LEVEL" ]; then
  code=0
fi
exit "$code"
