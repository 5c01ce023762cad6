#!/bin/sh
# enrol.sh NAME: enrols the worker whose volume is at /data with the hub whose volume is at /hub, once. It needs no secret:
# the administrator's token is in the hub's volume, and the worker's own goes straight into the worker's.
set -eu
umask 077
file=/data/home/worker/agents.yaml
if [ -e "$file" ]; then
  echo "$1 is enrolled already"
  exit 0
fi
mkdir -p /data/home/worker
exec writ workers add "$1" --home /hub/home --hub "$HUB_URL" --url "$HUB_URL" --out "$file"
