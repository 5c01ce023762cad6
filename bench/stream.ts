import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { streamOutputRequest } from "../src/contract/gen/writ/v1/job_service.ts";
import { encodeMessage } from "../src/runtime/grpc/encode-message.ts";
import { frameMessage } from "../src/runtime/grpc/message-frames.ts";
import { figure } from "./_figures.ts";
import { type BenchHub, startBenchHub } from "./_hub.ts";

/**
 * StreamOutput of a finished job over mutual TLS, MB/s in all, beside other servers that send the same file in the
 * same chunks: one that is made with grpc-js, and HTTP/2 without any gRPC. The client only counts
 * bytes, so that the servers are what is measured. `npm run bench -- stream [MiB]`. Why: ADR 0011.
 */
const mebibytes = Number(process.argv[2] ?? 256);
const rounds = 3;
const clientCounts = [1, 16];
const windowBytes = 1024 * 1024;
const memoryLookMs = 50;

const hub = await startBenchHub();
const { jobId, file } = await prepareJob(hub);
const others = await Promise.all(["grpc-js", "raw"].map((kind) => startOther(kind)));
const { grpc_port: grpcPort } = JSON.parse(readFileSync(join(hub.home, "hub.json"), "utf8"));
const servers = [{ name: "writ", port: grpcPort as number }, ...others];

const idleBytes = residentBytes(hub.pid);

try {
  for (const clients of clientCounts) {
    const best = new Map<string, number>();
    const watch = watchMemory(hub.pid);
    // In turns, so that whatever else the machine does falls on all of them alike.
    for (let round = 0; round < rounds; round++) {
      for (const { name, port } of servers) {
        best.set(name, Math.max(best.get(name) ?? 0, await measure(port, clients)));
      }
    }
    const ours = best.get("writ")!;
    for (const [name, value] of best) {
      const ratio = name === "writ" ? {} : { writ_is_times: Number((ours / value).toFixed(2)) };
      figure(`stream ${name} ${clients} client${clients > 1 ? "s" : ""}`, value, "MB/s", {
        mebibytes,
        rounds,
        ...ratio,
      });
    }
    const grownBytes = watch.stop() - idleBytes;
    figure(
      `stream hub memory above idle ${clients} client${clients > 1 ? "s" : ""}`,
      grownBytes / 1024 ** 2,
      "MiB",
    );
  }
} finally {
  for (const { child } of others) child.kill();
  await hub.stop();
}

type Claimed = { id: string; attempt: number; token: string };

/** A job whose output lies at the hub as if a worker had sent it. */
async function prepareJob(at: BenchHub): Promise<{ jobId: string; file: string }> {
  const call = async (path: string, body: unknown, headers = {}): Promise<Claimed> => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${at.url}/api/v1${path}`, {
      method: "POST",
      body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
      headers: {
        Authorization: `Bearer ${at.token}`,
        "Content-Type": isBytes ? "application/octet-stream" : "application/json",
        ...headers,
      },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (answer.status === 204 ? {} : await answer.json()) as Claimed;
  };
  await call("/workers/register", { worker_id: "bench", cores: 1, ram_gb: 1, kinds: ["exec"] });
  await call("/jobs", { type: "bench", run: { kind: "exec", argv: ["true"] } });
  const { id, attempt, token } = await call("/jobs/claim", { worker_id: "bench" });
  const fence = { worker_id: "bench", attempt, token };
  const headers = { "X-Worker-Id": "bench", "X-Job-Attempt": String(attempt), "X-Lease-Token": token };
  await call(`/jobs/${id}/output/stdout?offset=0`, randomBytes(1024), headers);
  await call(`/jobs/${id}/result`, { ...fence, result: null });
  // The rest is put into the file directly: how it came there is another figure.
  const path = join(at.home, "outputs", id.slice(-12, -10), id, "1", "stdout.log");
  const megabyte = randomBytes(1024 ** 2);
  writeFileSync(path, "");
  for (let written = 0; written < mebibytes; written++) writeFileSync(path, megabyte, { flag: "a" });
  return { jobId: id, file: path };
}

async function startOther(kind: string): Promise<{ name: string; port: number; child: ChildProcess }> {
  const program = join(import.meta.dirname, "_stream-server.ts");
  const child = spawn(process.execPath, [program, kind, join(hub.home, "certs"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout!.once("data", (text) => resolve(Number(String(text))));
    child.once("exit", () => reject(new Error(`the ${kind} server did not start`)));
  });
  return { name: kind, port, child };
}

/** Megabytes a second over all clients together, each on a connection of its own. */
async function measure(port: number, clients: number): Promise<number> {
  const startedAt = performance.now();
  const received = await Promise.all(Array.from({ length: clients }, () => receive(port)));
  const seconds = (performance.now() - startedAt) / 1000;
  const bytes = received.reduce((sum, each) => sum + each, 0);
  if (bytes < clients * mebibytes * 1024 ** 2) throw new Error("a stream ended too early");
  return bytes / 1e6 / seconds;
}

function receive(port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const [user = ""] = readdirSync(join(hub.home, "certs"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "issued")
    .map(({ name }) => name);
  const read = (name: string) => readFileSync(join(hub.home, "certs", name));
  const session = connect(`https://localhost:${port}`, {
    ca: read("ca.crt"),
    cert: read(join(user, "client.crt")),
    key: read(join(user, "client.key")),
    settings: { initialWindowSize: windowBytes },
  });
  session.on("connect", () => session.setLocalWindowSize(windowBytes));
  session.on("error", reject);
  const stream = session.request({
    ":method": "POST",
    ":path": "/writ.v1.JobService/StreamOutput",
    "content-type": "application/grpc",
    te: "trailers",
  });
  let bytes = 0;
  stream.on("data", (part: Buffer) => {
    bytes += part.length;
  });
  stream.on("error", reject);
  stream.on("end", () => {
    session.close();
    resolve(bytes);
  });
  stream.end(frameMessage(encodeMessage(streamOutputRequest, { job_id: jobId })));
  return promise;
}

function watchMemory(pid: number): { stop(): number } {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, memoryLookMs);
  return {
    stop() {
      clearInterval(timer);
      return peak;
    },
  };
}

function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes ?? 0) * 1024;
}
