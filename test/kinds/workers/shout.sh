#!/bin/sh
# A worker for one job per call: its argument is the input in base64, and its last line is the result.
input=$(printf '%s' "$1" | base64 -d) || exit 2
text=$(printf '%s' "$input" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
if [ -z "$text" ]; then
  echo "the input has no text" >&2
  echo '{"shouted":null}'
  exit 3
fi
echo "shouting $text"
printf '{"shouted":"%s"}\n' "$(printf '%s' "$text" | tr '[:lower:]' '[:upper:]')"
