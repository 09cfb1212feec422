#!/usr/bin/env bash
# Runs a command that must end with the given status and say one error; prints what it said.
# usage: fails.sh STATUS COMMAND...
expected=$1
shift
said=$("$@" 2>&1)
status=$?
echo "$said"
[ "$status" -eq "$expected" ] || { echo "expected status $expected, got $status"; exit 1; }
errors=$(grep -c '^error' <<<"$said")
[ "$errors" -ge 1 ] || { echo "expected an error"; exit 1; }
