#!/bin/sh
# Installs what the tests against the llama.cpp server need into target/llama-venv, once.
set -eu
cd "$(dirname "$0")/../../.."
venv="${FORGELINE_LLAMA_VENV:-target/llama-venv}"
if "$venv/bin/python" -c 'import xllamacpp, gguf, numpy' 2>/dev/null; then
    echo "llama-setup: $venv is ready"
    exit 0
fi
python3 -m venv "$venv" || {
    echo "llama-setup: python3 lacks venv; on Debian: apt-get install python3-venv" >&2
    exit 1
}
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check xllamacpp gguf numpy
"$venv/bin/python" -c 'import xllamacpp, gguf, numpy'
echo "llama-setup: $venv is ready"
