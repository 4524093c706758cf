#!/bin/sh
# Installs llama.cpp's server and what writes its model into target/llama-venv, once.
set -eu
cd "$(dirname "$0")/../../.."
venv="${FORGELINE_LLAMA_VENV:-target/llama-venv}"
if ! "$venv/bin/python" -c 'import xllamacpp, gguf, numpy' 2>/dev/null; then
    python3 -m venv "$venv" || {
        echo "llama-setup: python3 lacks venv; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r internal/testkit/llama/requirements.txt
    "$venv/bin/python" -c 'import xllamacpp, gguf, numpy'
fi
echo "llama-setup: $venv is ready"
