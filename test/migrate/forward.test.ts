import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { JobsOverGrpc } from "../../src/client/grpc/jobs-over-grpc.ts";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { HubProcess } from "../support/hub-process.ts";
import { noPostgres, PostgresCluster } from "../support/postgres-cluster.ts";
import { pythonEnv } from "../support/python.ts";
import { runCli } from "../support/run-cli.ts";
import { startStranger } from "../support/stranger.ts";
import { hubForAll } from "../support/use-hub.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { folder, runMigrate } from "./stage.ts";

const root = join(import.meta.dirname, "../..");

/** Prints a line each 50 ms until the file `enough` is there, and last how many it were. */
const counting =
  "i=0; while [ ! -e enough ] && [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo last $i";

describe("refusals", () => {
  const hub = hubForAll();
  const run = (args: string[]) => runCli("writ", ["forward", "--grpc-port", "0", ...args], { env: {} });

  test.each([
    ["http://hub.example:3000", "would send the token unencrypted"],
    ["hub.example", "is not a hub address"],
    ["http://127.0.0.1:3999", "http://127.0.0.1:3999 is the old address"],
  ])("--to %s", async (to, problem) => {
    const { code, stderr } = await run(["--home", hub.home, "--port", "3999", "--to", to]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^writ: --to: /);
    expect(stderr).toContain(problem);
  });

  test("--to with another name of the old address", async () => {
    const port = String(await freePort());
    const { code, stderr } = await run([
      "--home",
      hub.home,
      "--port",
      port,
      "--to",
      `http://localhost:${port}`,
    ]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `writ: --to: http://localhost:${port} leads to http://127.0.0.1:${port}, the old address; name that of the new hub\n`,
    );
  });

  test("--to with a name of the old address that its certificate does not have", async () => {
    const [home, port] = [hub.home, String(await freePort())];
    const own = (file: string) => join(home, "certs", `server.${file}`);
    const tls = { WRIT_TLS_CERT: own("crt"), WRIT_TLS_KEY: own("key") };
    const env = { ...tls, WRIT_HOST: "127.0.0.2", WRIT_PUBLIC_URL: `https://localhost:${port}` };
    const to = ["--to", `https://127.0.0.2:${port}`, "--to-grpc", "127.0.0.1:1"];
    const args = ["forward", "--home", home, "--port", port, "--grpc-port", "0", ...to];
    const { code, stderr } = await runCli("writ", args, { env });
    expect(stderr).toMatch(/^writ: --to: https:\/\/127\.0\.0\.2:\d+ leads to .*, the old address/);
    expect(code).toBe(2);
  });

  test("--to-grpc with another name of the old address", async () => {
    const [port, grpcPort] = [String(await freePort()), String(await freePort())];
    const to = ["--to", "https://127.0.0.1:1", "--to-grpc", `localhost:${grpcPort}`];
    const { code, stderr } = await run(["--home", hub.home, "--port", port, ...to, "--grpc-port", grpcPort]);
    expect(stderr).toBe(
      `writ: --to-grpc: localhost:${grpcPort} leads to the gRPC port ${grpcPort} of http://127.0.0.1:${port}, the old address; name that of the new hub\n`,
    );
    expect(code).toBe(2);
  });

  test("--to with the hub of another installation, which callers would send their tokens", async () => {
    const other = await startTestHub(stillEnv);
    onTestFinished(() => other.stop());
    const toGrpc = `127.0.0.1:${grpcPortOf(other)}`;
    const to = ["--to", other.url, "--to-grpc", toGrpc];
    const { code, stderr } = await run(["--home", hub.home, "--port", String(await freePort()), ...to]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `writ: --to: ${other.url} is not the hub of this home: the gRPC port ${toGrpc} `,
    );
  });

  test("a gRPC address without a port, a home without a hub, and an address that is in use", async () => {
    const to = ["--to", "https://127.0.0.1:1"];
    const { home, url } = hub;
    expect((await run(["--home", home, ...to, "--to-grpc", "127.0.0.1"])).stderr).toContain(
      '--to-grpc: gRPC address "127.0.0.1" is not allowed; use host:port',
    );
    expect((await run(["--home", folder(), ...to])).stderr).toContain("--home: no hub has run in ");
    const { port } = new URL(url);
    const taken = await run(["--home", home, "--port", port, ...to]);
    expect(taken.stderr).toContain(`cannot listen on 127.0.0.1:${port}: it is in use`);
  });
});

describe.skipIf(noPostgres !== undefined)(
  `a hub that moves to PostgreSQL and to another address${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    const env = { WRIT_LEASE_MS: "60000", WRIT_LOG_LEVEL: "warn" };
    const old = new HubProcess(env);
    const newEnv: Record<string, string> = { ...env };
    const fresh = new HubProcess(newEnv);
    const worker = new WorkerProcess(old, "old-address", { WORKER_SLOTS: "2" });
    let cluster: PostgresCluster;

    beforeAll(async () => {
      cluster = await PostgresCluster.start();
      await old.start();
      await worker.enrol();
      worker.start();
    });
    afterAll(async () => {
      await worker.remove();
      await fresh.remove();
      await old.remove();
      await cluster?.stop();
    });

    const readOutput = async (writ: Writ, id: string): Promise<string> => {
      let text = "";
      for await (const chunk of writ.streamOutput(id, { follow: false }))
        text += Buffer.from(chunk).toString();
      return text;
    };

    test("its worker, which knows only the old address, is told the new one and keeps its job", async () => {
      const before = new Writ({ url: old.url, token: old.token });
      onTestFinished(() => before.close());
      const { id } = await before.submit({
        type: "count",
        run: { kind: "exec", argv: ["sh", "-c", counting] },
      });
      await eventually("it writes", async () => (await before.get(id)).output.stdout > 0);
      const token = old.token;
      await old.kill("SIGTERM");

      const url = cluster.url("postgres");
      const { code, stderr } = await runMigrate(old.home, ["--to", "postgres:"], { WRIT_DATABASE_URL: url });
      expect([code, stderr]).toEqual([0, ""]);
      Object.assign(newEnv, { WRIT_DATABASE_URL: url, WRIT_KEYS_DIR: join(old.home, "keys") });

      // A server with a certificate that the worker does not trust learns nothing from it.
      const stranger = await startStranger();
      const closed = `127.0.0.1:${await freePort()}`;
      await using wrong = await forward(old, ["--to", stranger.url, "--to-grpc", closed]);
      expect(wrong.stderr()).toContain(`warning: no hub can be reached (${stranger.url}: `);
      expect(wrong.stderr()).toContain(
        `warning: no hub can be reached for gRPC (${closed}: ECONNREFUSED); is --to-grpc the address of the new hub?`,
      );
      await eventually("the worker looks there", () => stranger.connections() > 1);
      await wrong[Symbol.asyncDispose]();
      expect(stranger.requests()).toBe(0);

      rmSync(join(fresh.home, "certs"), { recursive: true, force: true });
      symlinkSync(join(old.home, "certs"), join(fresh.home, "certs"));
      await fresh.start();
      const toGrpc = `127.0.0.1:${grpcPortOf(fresh)}`;
      await using right = await forward(old, ["--to", fresh.url, "--to-grpc", toGrpc]);
      expect(right.stderr()).toBe("");
      const after = new Writ({ url: fresh.url, token });
      onTestFinished(() => after.close());
      const kept = (await after.get(id)).output.stdout;
      await eventually("its output grows at the new hub", async () => {
        return (await after.get(id)).output.stdout > kept;
      });
      writeFileSync(join(worker.home, "work", "folders", `${id}.1`, "enough"), "");
      const job = await after.wait(id, { timeoutMs: 120_000 });
      expect(job).toMatchObject({ status: "completed", attempt: 1, attempts: 1, fail_history: [] });
      const text = await readOutput(after, id);
      const count = Number(/last (\d+)\n$/.exec(text)?.[1]);
      const lines = Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("");
      expect(text).toBe(`${lines}last ${count}\n`);

      // The SDK and jobctl know only the old address too.
      expect((await before.get(id)).status).toBe("completed");
      expect(await readOutput(before, id)).toBe(text);
      const told = await runCli("jobctl", ["--hub", old.url, "result", id, "--json"], {
        env: { WRIT_TOKEN: token },
      });
      expect([told.code, told.stderr]).toEqual([0, ""]);
      const program = `import writ; print(writ.Writ("${old.url}").get("${id}")["status"])`;
      const python = await promisify(execFile)("python3", ["-c", program], {
        env: pythonEnv({ WRIT_TOKEN: token }),
      });
      expect(python.stdout).toBe("completed\n");
      const jobs = new JobsOverGrpc({
        address: `127.0.0.1:${right.grpcPort}`,
        home: old.home,
        user: userInfo().username,
      });
      onTestFinished(() => jobs.close());
      expect(await jobs.status(id)).toMatchObject({ state: "EXITED", exit_code: 0 });
      const next = await before.submit({ type: "next", run: { kind: "exec", argv: ["true"] } });
      expect(await before.wait(next.id, { timeoutMs: 60_000 })).toMatchObject({ status: "completed" });
    });
  },
);

type Forwarder = AsyncDisposable & { grpcPort: number; stderr(): string };

/** `writ forward` at the address that the hub had. */
async function forward(hub: HubProcess, args: string[]): Promise<Forwarder> {
  const grpcPort = await freePort();
  const ports = ["--port", new URL(hub.url).port, "--grpc-port", String(grpcPort)];
  const child = spawn(join(root, "bin/writ"), ["forward", "--home", hub.home, ...ports, ...args], {
    env: { PATH: process.env["PATH"] },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => (stdout += text));
  child.stderr.on("data", (text) => (stderr += text));
  await eventually("it answers at the old address", () => {
    if (child.exitCode !== null) throw new Error(`writ forward has ended: ${stderr}`);
    return stdout.includes(" sends its callers to ");
  });
  return { grpcPort, stderr: () => stderr, [Symbol.asyncDispose]: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
}

function grpcPortOf({ home }: { home: string }): number {
  return JSON.parse(readFileSync(join(home, "hub.json"), "utf8")).grpc_port;
}
