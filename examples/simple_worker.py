"""A worker in plain Python: WRIT_HUB_URL=… WRIT_TOKEN=… python3 simple_worker.py COMMAND…; WORKER_TYPES=one,two limits its types

For each job it runs COMMAND with the job's type as last argument and its params on stdin; stdout is the result, as JSON.
"""
import json, os, subprocess, sys, time, urllib.error, urllib.request

API = os.environ["WRIT_HUB_URL"] + "/api/v1"
HEADERS = {"Authorization": "Bearer " + os.environ["WRIT_TOKEN"], "Content-Type": "application/json"}
BEAT_SEC = float(os.environ.get("BEAT_SEC", "10"))
ME = {"worker_id": os.environ.get("WORKER_ID", f"python-{os.getpid()}")}
TYPES = {"types": os.environ["WORKER_TYPES"].split(",")} if os.environ.get("WORKER_TYPES") else {}


def call(path, body):
    """The status and the answer. A hub that is away, busy or locked is asked again."""
    while True:
        request = urllib.request.Request(API + path, json.dumps(body).encode(), HEADERS)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (423, 429):
                return error.code, json.loads(error.read())
        except OSError:
            pass
        time.sleep(1)


def run(job, command):
    path, fence = f"/jobs/{job['id']}", {**ME, "attempt": job["attempt"], "token": job["token"]}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    work, params = subprocess.Popen([*command, job["type"]], **pipes), json.dumps(job["params"]).encode()
    while True:
        try:
            out, errors = work.communicate(params, timeout=BEAT_SEC)
            break
        except subprocess.TimeoutExpired:
            params = None
            # 409: the job was cancelled, or is somebody else's by now.
            if call(path + "/heartbeat", fence)[0] == 409:
                work.terminate()
    if work.returncode == 0:
        try:
            status, answer = call(path + "/result", {**fence, "result": json.loads(out or "null")})
            reason = None if status == 200 else f"the hub refused the result: {answer['error']['message']}"
        except ValueError as error:
            reason = f"the result is not JSON: {error}"
    else:
        reason = errors.decode(errors="replace")[-500:] or f"exit code {work.returncode}"
    if reason is not None:
        print(f"job {job['id']} failed: {reason}", file=sys.stderr, flush=True)
        call(path + "/fail", {**fence, "reason": reason})


call("/workers/register", {**ME, **TYPES, "cores": 1, "ram_gb": 1})
while True:
    status, job = call("/jobs/claim", {**ME, "wait_ms": 5000})
    if status == 200:
        run(job, sys.argv[1:])
    elif status == 404:
        call("/workers/register", {**ME, **TYPES, "cores": 1, "ram_gb": 1})
    elif status == 204:
        time.sleep(1)  # A worker that is drained or paused gets it at once.
    else:
        sys.exit(f"the hub refuses this worker: {job}")
