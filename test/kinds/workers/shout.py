"""A worker that uses nothing but Python: shout.py PORT serves jobs over HTTP, one request at a time."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

jobs = {}


def run(job):
    job_id, text = job["job_id"], job["job_input"].get("text")
    with open(job["job_log_out"], "a") as log:
        print("shouting", text, file=log)
    if text is None:
        jobs[job_id] = {"job_id": job_id, "status": "failed", "error": "the input has no text"}
        return
    time.sleep(job["job_input"].get("sleep_ms", 0) / 1000)
    with open(job["job_output_dir"] + "/shouted.txt", "w") as file:
        file.write(text.upper())
    jobs[job_id] = {"job_id": job_id, "status": "success", "result": {"shouted": text.upper()}}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health/ready":
            return self.answer(200, {})
        job = jobs.get(self.path.removeprefix("/job/"))
        return self.answer(200, job) if job else self.answer(404, {"error": "not found"})

    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        jobs[job["job_id"]] = {"job_id": job["job_id"], "status": "running"}
        threading.Thread(target=run, args=[job]).start()
        self.answer(200, {"accepted": True, "job_id": job["job_id"]})

    def log_message(self, *words):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
