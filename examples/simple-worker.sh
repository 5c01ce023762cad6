#!/bin/sh
# A worker in plain sh and curl: WRIT_HUB_URL=… WRIT_TOKEN=… sh simple-worker.sh COMMAND…; WORKER_TYPES=one,two limits its types
# For each job it runs COMMAND with the job's type as last argument and its params on stdin; stdout is the result, as JSON.
set -u; umask 077
dir=$(mktemp -d) me=${WORKER_ID:-sh-$$} beat_sec=${BEAT_SEC:-10} work=
types=${WORKER_TYPES:+,\"types\":[\"$(printf %s "$WORKER_TYPES" | sed 's/,/","/g')\"]}
printf 'header = "Authorization: Bearer %s"\n' "$WRIT_TOKEN" > "$dir/curl"
stop() { [ -z "$work" ] || kill "$work" 2> /dev/null; rm -rf "$dir"; exit 0; }
trap stop INT TERM
# Posts a body, from a file because it may be long or hold a token, leaves the answer in a file, and prints the status: 000 if the hub did not answer.
call() {
  rm -f "$dir/answer"; printf %s "$2" > "$dir/body"
  curl -s -K "$dir/curl" -H "Content-Type: application/json" -o "$dir/answer" -w '%{http_code}' --data-binary "@$dir/body" "$WRIT_HUB_URL/api/v1$1"
}
register() { while [ "$(call /workers/register '{"worker_id":"'"$me"'","cores":1,"ram_gb":1'"$types"'}')" != 204 ]; do sleep 1; done; }
# The first of these fields in the job: text, or a number.
field() { printf %s "$job" | grep -oE "\"$1\":(\"[^\"]*\"|[0-9]+)" | head -n 1 | cut -d : -f 2- | tr -d '"'; }
# The report is sent again while the hub is away, busy or locked; any other answer is final, and a refusal is logged.
report() { while :; do case $(call "/jobs/$id/$1" "{$fence,$2}") in 2??) return ;; 4[01]?) break ;; esac; sleep 1; done; refused "$1"; }
refused() { echo "job $id: $1 refused: $(cat "$dir/answer")" >&2; return 1; }
run() {
  job=$(cat "$dir/answer") id=$(field id) fence='"worker_id":"'$me'","attempt":'$(field attempt)',"token":"'$(field token)'"'
  params=${job#*'"params":'}
  printf %s "${params%',"priority":'*}" > "$dir/params"
  "$@" "$(field type)" < "$dir/params" > "$dir/result" 2> "$dir/errors" &
  work=$! waited=0
  while kill -0 "$work" 2> /dev/null; do
    sleep 1; waited=$((waited + 1))
    # 409: the job was cancelled, or is somebody else's by now.
    [ $((waited % beat_sec)) != 0 ] || [ "$(call "/jobs/$id/heartbeat" "{$fence}")" != 409 ] || kill "$work" 2> /dev/null
  done
  if wait "$work"; then
    [ -s "$dir/result" ] || echo null > "$dir/result"
    report result "\"result\":$(cat "$dir/result")" || report fail '"reason":"the hub refused the result, which has to be JSON"'
  else report fail "\"reason\":\"exit code $?: $(tail -c 500 "$dir/errors" | LC_ALL=C tr -cd '\n -~' | tr '\n' ' ' | sed 's/[\\"]/\\&/g')\""; fi; work=
}
register
while :; do # The pause is for 204 too: a worker that is drained or paused gets it at once.
  case $(call /jobs/claim '{"worker_id":"'"$me"'","wait_ms":5000}') in 200) run "$@" ;; 404) register ;; *) sleep 1 ;; esac
done
