"""Serves jobs for Writ, with nothing but Python's own library: three endpoints and a thread for each job."""

import json
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REMEMBERED_MAX = 1000
jobs = {}


def hello(job, log):
    """The work itself: its return value is the result, and an exception fails the job."""
    name = job["job_input"]["name"]
    print("greeting", name, file=log, flush=True)
    greeting = f"hello {name}"
    with open(os.path.join(job["job_output_dir"], "greeting.txt"), "w") as file:
        print(greeting, file=file)
    return {"greeting": greeting}


CLASSES = {"hello.v1": hello}


def run(job):
    job_id = job["job_id"]
    try:
        with open(job["job_log_out"], "a") as log:
            result = CLASSES[job["job_class"]](job, log)
        end = {"job_id": job_id, "status": "completed", "result": result}
    except Exception as error:
        failure = {"code": "JOB_EXECUTION_ERROR", "message": repr(error)}
        end = {"job_id": job_id, "status": "failed", "error": failure}
    jobs[job_id] = end
    while len(jobs) > REMEMBERED_MAX:
        jobs.pop(next(iter(jobs)))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health/ready":
            return self.answer(200, {"ready": True})
        job = jobs.get(self.path.removeprefix("/job/"))
        if job is None:
            return self.answer(404, {"error": {"code": "JOB_NOT_FOUND", "message": "no such job"}})
        self.answer(200, job)

    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if job["job_class"] not in CLASSES:
            message = "job_class must be one of: " + ", ".join(CLASSES)
            error = {"code": "UNKNOWN_JOB_CLASS", "message": message}
            return self.answer(400, {"accepted": False, "job_id": job["job_id"], "error": error})
        jobs[job["job_id"]] = {"job_id": job["job_id"], "status": "running"}
        threading.Thread(target=run, args=[job], daemon=True).start()
        self.answer(200, {"accepted": True, "job_id": job["job_id"]})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class SocketServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


# Writ starts the program with the path of a socket that no other program can reach. By hand: PORT=8101 python3
# worker.py
socket = os.environ.get("WRIT_SOCKET")
if socket:
    server = SocketServer(socket, Handler)
else:
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8101"))), Handler)
server.serve_forever()
