import { execFile, spawnSync } from "node:child_process";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const python = "/usr/bin/python3";
const hasPython = spawnSync(python, ["-c", "import urllib.request"]).status === 0;
if (!hasPython) console.warn(`NOT CHECKED against Python: there is no ${python}`);

/** As a plain client does it: everything is sent before anything is read. */
async function sendThenRead(head: string[], body: Buffer, path = "/api/v1/jobs"): Promise<string> {
  const socket = connect(hub.port, "127.0.0.1");
  socket.pause();
  socket.write(`POST ${path} HTTP/1.1\r\n${["Host: x", ...head].join("\r\n")}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(body, (error) => (error ? reject(error) : resolve()));
  });
  const answer = text(socket);
  socket.end();
  return answer;
}

const mib = 1024 ** 2;
const json = ["Content-Type: application/json", "Connection: close"];

test("B14: a client that sends a body over the limit to its end reads 413, not a broken pipe", async () => {
  const head = [...json, `Authorization: Bearer ${hub.admin}`, `Content-Length: ${20 * mib}`];
  const answer = await sendThenRead(head, Buffer.alloc(20 * mib, " "));
  expect(answer).toMatch(/^HTTP\/1.1 413 /);
  expect(answer).toContain('"code":"TOO_LARGE"');
});

test("B14: a large body without a valid token, or to an unknown path, is answered as well", async () => {
  const head = [...json, "Authorization: Bearer sk_user_wrong", `Content-Length: ${5 * mib}`];
  const body = Buffer.alloc(5 * mib, " ");
  expect(await sendThenRead(head, body)).toMatch(/^HTTP\/1.1 401 /);
  expect(await sendThenRead(head, body, "/api/v1/nowhere")).toMatch(/^HTTP\/1.1 404 /);
});

test("B14: a client that waits with a body over the limit gets the refusal before it sends the body", async () => {
  const head = [...json, `Authorization: Bearer ${hub.admin}`, `Content-Length: ${20 * mib}`];
  const socket = connect(hub.port, "127.0.0.1");
  socket.write(`POST /api/v1/jobs HTTP/1.1\r\n${["Host: x", ...head].join("\r\n")}\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 413 /);
});

const script = `
import http.client, sys, urllib.error, urllib.request
port, token = int(sys.argv[1]), sys.argv[2]
body = b" " * (20 * 1024 * 1024)
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
connection = http.client.HTTPConnection("127.0.0.1", port)
connection.request("POST", "/api/v1/jobs", body, headers)
print(connection.getresponse().status)
try:
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/jobs", body, headers))
except urllib.error.HTTPError as error:
    print(error.code)
`;

test.runIf(hasPython)(
  `B14: Python's own clients see 413${hasPython ? "" : " (not capable: no python3)"}`,
  async () => {
    // The hub runs in this process, so Python must not block it.
    const output = await new Promise<string>((resolve, reject) => {
      execFile(python, ["-c", script, String(hub.port), hub.admin], (error, stdout, stderr) =>
        error ? reject(new Error(stderr)) : resolve(stdout),
      );
    });
    expect(output).toBe("413\n413\n");
  },
);
