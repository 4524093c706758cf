#!/usr/bin/env bash
# Builds this commit and an older one from nothing, and compares the CPU time that they take:
# `build.sh BASE`. Fails when a build takes more than a tenth longer than it did.
set -euo pipefail
base=${1:?usage: build.sh BASE, a commit to compare with}
cd "$(dirname "$0")/../.."
folder=$PWD/target/bench-build
rm -rf "$folder"

# Prints the seconds of CPU of a cold build of commit $1 with the arguments behind it.
cold() {
    local tree=$folder/$1 TIMEFORMAT='%U %S'
    shift
    rm -rf "$tree/target"
    { time cargo build -q --locked --manifest-path "$tree/Cargo.toml" --target-dir "$tree/target" "$@" 2>"$folder/log"; } 2>&1 |
        awk '{ printf "%.0f", $1 + $2 }'
}

for commit in "$base" HEAD; do
    mkdir -p "$folder/$commit"
    git archive "$commit" | tar x -C "$folder/$commit"
    # What is downloaded is no part of a build.
    cargo fetch -q --locked --manifest-path "$folder/$commit/Cargo.toml"
done

failed=0
for build in "-p forgeline" "-p forgeline-cli --release"; do
    # shellcheck disable=SC2086
    before=$(cold "$base" $build) now=$(cold HEAD $build)
    echo "cargo build $build: $now s of CPU, $before s at $base"
    ((now * 10 <= before * 11)) || failed=1
done
rm -rf "$folder"
exit "$failed"
