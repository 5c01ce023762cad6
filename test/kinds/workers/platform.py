"""A platform for writ-agent, written from the three routes in docs/container-workers.md and nothing else.

platform.py FOLDER TOKEN keeps files in FOLDER, prints its address, and then one line of JSON for each call.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, TOKEN = sys.argv[1:]


class Platform(BaseHTTPRequestHandler):
    def do_POST(self):
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401)
        body = json.loads(self.body() or b"null")
        *_, job_id, act = self.path.split("/")
        print(json.dumps({"act": act, "job_id": job_id, "body": body}), flush=True)
        if self.path != f"/api/v1/docker/jobs/{job_id}/{act}":
            return self.answer(404)
        if act == "start":
            return self.answer(202, b"on my list")
        if act == "complete" and not set(body) - {"success", "result", "error", "outputFiles"}:
            return self.answer(201, b"<p>thank you</p>")
        if act == "request-presigned-urls" and all(set(file) == {"folderId", "objectKey", "method"} for file in body):
            urls = [{**file, "url": f"{address}/{file['folderId']}/{file['objectKey']}?signed"} for file in body]
            return self.answer(200, json.dumps({"urls": urls}).encode())
        return self.answer(422, b"a field that I do not know")

    def do_PUT(self):
        path = os.path.join(FOLDER, self.path.split("?")[0].lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(self.body())
        self.answer(200)

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def answer(self, status, text=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
address = f"http://127.0.0.1:{server.server_address[1]}"
print(address, flush=True)
server.serve_forever()
