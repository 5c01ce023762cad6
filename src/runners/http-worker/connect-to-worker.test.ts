import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { connectInside } from "../../sandbox/launcher/connect-inside.ts";
import { workerConnections } from "./connect-to-worker.ts";

const never = new AbortController().signal;

/** The worker is this process: its end of each connection sends its name. */
async function listen(options: ListenOptions, name = "worker"): Promise<Server> {
  const server = createServer((socket) => void socket.on("error", () => {}).end(name));
  onTestFinished(() => void server.close());
  server.listen(options);
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-connect-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function open(port: number, more: { socketFile?: string; pids?: number[] } = {}) {
  const { socketFile = "/nowhere/worker.sock", pids = [process.pid] } = more;
  return workerConnections(systemClock, { port, socketFile, pids: async () => pids }).open(never);
}

async function answerOf(connection: Awaited<ReturnType<typeof open>>): Promise<string> {
  const [answer] = await once(connection, "data");
  connection.destroy();
  return String(answer);
}

/** Another user's program. It prints a line when it listens, and one with all that it receives. */
async function stranger(options: object, whenAsked = ""): Promise<{ heard: string[] }> {
  const program = `const server = require("node:net").createServer((socket) => {
    ${whenAsked};
    socket.on("error", () => {}).on("data", (bytes) => console.log("heard " + bytes));
  }).listen(${JSON.stringify(options)}, () => console.log("listens"));
  setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const heard: string[] = [];
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  lines.on("line", (line) => heard.push(line));
  return { heard };
}

const refused = { detail: "WORKER_NOT_READY", message: expect.stringContaining("this worker did not start") };

test("O-03: a worker that listens on a socket in its own folder needs no port", async () => {
  const socketFile = join(folder(), "worker.sock");
  await listen({ path: socketFile }, "by its socket");
  expect(await answerOf(await open(1, { socketFile }))).toBe("by its socket");
});

test("O-03: a link in place of the socket is not followed", async () => {
  const dir = folder();
  await listen({ path: join(dir, "other.sock") }, "another program of this machine");
  symlinkSync(join(dir, "other.sock"), join(dir, "worker.sock"));
  await expect(open(1, { socketFile: join(dir, "worker.sock") })).rejects.toThrow("ECONNREFUSED");
});

test.each(["127.0.0.1", "::1", "::"])("a worker that listens on %s alone is reached", async (host) => {
  expect(await answerOf(await open(portOf(await listen({ port: 0, host }))))).toBe("worker");
});

test("O-03: a connection that ends in another program is refused before anything is sent", async () => {
  const port = portOf(await listen({ port: 0, host: "127.0.0.1" }));
  await expect(open(port, { pids: [process.ppid] })).rejects.toMatchObject(refused);
});

test.each([
  ["beside a worker on ::1", { host: "::1" }, { host: "127.0.0.1" }],
  ["beside a worker on 127.0.0.1", { host: "127.0.0.1" }, { host: "::1" }],
  ["on the same address", { host: "127.0.0.1", reusePort: true }, { host: "127.0.0.1", reusePort: true }],
])("O-03: a worker is not called while another program listens on its port, %s", async (_, own, other) => {
  const port = portOf(await listen({ port: 0, ...own }));
  const { heard } = await stranger({ port, ...other });
  for (let tries = 0; tries < 2; tries++) await expect(open(port)).rejects.toMatchObject(refused);
  expect(heard).toEqual([]);
});

test("O-03: a program that accepted a connection and no longer listens is found too", async () => {
  const port = portOf(await listen({ port: 0, host: "::1" }));
  await stranger({ port, host: "127.0.0.1" }, "server.close()");
  await expect(open(port)).rejects.toMatchObject(refused);
  expect(await answerOf(await open(port))).toBe("worker");
});

test("O-03: a port of this machine is not reached as if it were in a network of its own", async () => {
  const port = portOf(await listen({ port: 0, host: "127.0.0.1" }));
  await expect(connectInside({ pid: process.pid, port }, never)).rejects.toThrow("has no network of its own");
});
