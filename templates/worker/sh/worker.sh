#!/bin/sh
# Runs one job for Writ: the argument is the input in base64, and the last line of the output is the result.
# The same input is in the file that JOB_INPUT_FILE names. By hand: ./worker.sh "$(printf '{"name":"Ada"}' | base64)"
set -e
input=$(printf '%s' "$1" | base64 -d)
name=$(printf '%s' "$input" | sed -n 's/.*"name":"\([A-Za-z ]*\)".*/\1/p')
if [ -z "$name" ]; then
  echo "name must be a text of letters" >&2
  exit 1
fi
echo "greeting $name"
if [ -n "$JOB_OUTPUT_DIR" ]; then echo "hello $name" > "$JOB_OUTPUT_DIR/greeting.txt"; fi
printf '{"greeting":"hello %s"}\n' "$name"
