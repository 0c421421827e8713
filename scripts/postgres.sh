#!/usr/bin/env bash
# Runs a command with a temporary PostgreSQL server:
#
#     scripts/postgres.sh cargo test -p mcp-aql-tests-databases
#
# The command finds it through MCP_AQL_TEST_POSTGRES. Uses the installed PostgreSQL; as root on Debian-based systems,
# installs it if it is missing. The server does not listen on the network, but on a socket in a temporary directory.
set -euo pipefail

# The directory of `initdb` and `postgres`: the latest installed version.
find_programs() {
  local folder
  for folder in "$(dirname "$(command -v initdb || true)")" $(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -rV); do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
      echo "$folder"
      return
    fi
  done
  return 1
}

if ! programs=$(find_programs); then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "PostgreSQL is not installed: put initdb and postgres into PATH" >&2
    exit 1
  fi
  echo "PostgreSQL is not installed: installing Debian's package" >&2
  apt-get update -qq >&2
  # Installs PostgreSQL without creating a system cluster.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >&2
  programs=$(find_programs)
fi

# The server refuses to run as root.
as_server=()
owner=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
  owner=nobody
  if id postgres > /dev/null 2>&1; then owner=postgres; fi
  as_server=(setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups --)
fi

# The path of a socket may have at most 107 characters.
home=$(mktemp -d /tmp/mcp-aql-postgres.XXXXXX)
server=
clean_up() {
  trap - EXIT INT TERM HUP
  if [ -n "$server" ]; then
    # Stops immediately, without waiting for clients.
    kill -QUIT "$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
  fi
  rm -rf "$home"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

chown "$owner" "$home"
cd "$home"
"${as_server[@]}" "$programs/initdb" --pgdata="$home/data" --username=test --auth=trust --encoding=UTF8 \
  --locale=C.UTF-8 --no-sync > "$home/initdb.log" 2>&1 || { cat "$home/initdb.log" >&2; exit 1; }
"${as_server[@]}" "$programs/postgres" -D "$home/data" -k "$home" -c listen_addresses= -c fsync=off \
  -c full_page_writes=off -c log_min_messages=fatal > "$home/server.log" 2>&1 &
server=$!
cd "$OLDPWD"

for _ in $(seq 100); do
  if [ -S "$home/.s.PGSQL.5432" ] && grep -qs '^ready' <(tail -n1 "$home/data/postmaster.pid" 2> /dev/null); then
    ready=1
    break
  fi
  kill -0 "$server" 2> /dev/null || break
  sleep 0.1
done
if [ -z "${ready:-}" ]; then
  echo "PostgreSQL did not start:" >&2
  cat "$home/server.log" >&2
  exit 1
fi

MCP_AQL_TEST_POSTGRES="host=$home user=test dbname=postgres" "$@"
