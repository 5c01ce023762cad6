import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, isIP, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Egress } from "../../src/core/egress.ts";
import { codeOf } from "../../src/core/errors.ts";
import { resolveLimits } from "../../src/core/limits.ts";
import { AttemptSecrets } from "../../src/runners/attempt-secrets.ts";
import { closeNetwork } from "../../src/runners/egress/close-network.ts";
import type { RunContext, RunnerDeps, RunnerSettings } from "../../src/runners/runner.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import type { Network } from "../../src/runtime/guarded-fetch/guarded-lookup.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import type { Isolation, ProcessExit } from "../../src/sandbox/sandbox.ts";
import { planJob, type Stage } from "./cage-stage.ts";

/** A name server of our own: what each name means, and which names were asked for. */
export class Names implements Network {
  readonly asked: string[] = [];
  readonly #table: Record<string, readonly string[] | (() => readonly string[])>;

  constructor(table: Names["table"]) {
    this.#table = table;
  }

  get table(): Record<string, readonly string[] | (() => readonly string[])> {
    return this.#table;
  }

  async resolve(host: string) {
    this.asked.push(host);
    const found = this.#table[host];
    if (found === undefined) throw new Error("ENOTFOUND");
    const list = typeof found === "function" ? found() : found;
    return list.map((address) => ({ address, family: isIP(address) }));
  }

  ownAddresses(): string[] {
    return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
  }
}

/** Counts everything that reaches it. A closed network is closed as long as it is silent. */
export type Canary = {
  heard: string[];
  tcpPort: number;
  udpPort: number;
  addresses: string[];
  close(): void;
};

/** It listens at every address of this machine. */
export async function openCanary(): Promise<Canary> {
  const heard: string[] = [];
  const tcp = createServer((socket) => {
    heard.push(`tcp ${socket.localAddress}`);
    socket.on("error", () => {}).end("the canary sings\n");
  });
  tcp.listen(0, "::");
  const udp = createSocket("udp6");
  udp.on("message", (_bytes, from) => heard.push(`udp ${from.address}`));
  udp.bind(0, "::");
  await Promise.all([once(tcp, "listening"), once(udp, "listening")]);
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.map(({ address }) => address),
  );
  return {
    heard,
    tcpPort: portOf(tcp),
    udpPort: udp.address().port,
    addresses,
    close() {
      tcp.close();
      udp.close();
    },
  };
}

export type Credentials = { key: Buffer; cert: Buffer; certFile: string; close(): void };

/** A certificate that signs itself, for these names. */
export function makeCredentials(names: readonly string[]): Credentials {
  const dir = mkdtempSync(join(tmpdir(), "writ-egress-"));
  const [keyFile, certFile] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const alternatives = names.map((name) => `DNS:${name}`).join(",");
  const subject = ["-subj", "/CN=writ test", "-addext", `subjectAltName=${alternatives}`];
  execFileSync("openssl", ["req", ...kind, "-keyout", keyFile, "-out", certFile, ...subject], {
    stdio: "ignore",
  });
  const [key, cert] = [readFileSync(keyFile), readFileSync(certFile)];
  return { key, cert, certFile, close: () => remove(dir) };
}

/** A test that gave up root's rights meanwhile leaves it to the system. */
function remove(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== "EACCES" && codeOf(error) !== "EPERM") throw error;
  }
}

export async function openHttp(answer: RequestListener): Promise<Server> {
  const server = createHttpServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** At a port that the system chooses, unless one is given with an address of its own. */
export async function openHttps(
  { key, cert }: Credentials,
  answer: RequestListener,
  at: { host: string; port: number } = { host: "127.0.0.1", port: 0 },
): Promise<Server> {
  const server = createHttpsServer({ key, cert }, answer);
  server.listen(at.port, at.host);
  await once(server, "listening");
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Somewhere on this machine that no other test listens at. */
export function ownLoopback(): string {
  const byte = (): number => 1 + Math.floor(Math.random() * 250);
  return `127.${byte()}.${byte()}.${byte()}`;
}

/** The program that runs this test, as a job sees it. */
export const nodeInside = "/node/node";
const nodeMount = {
  source: realpathSync(dirname(process.execPath)),
  target: "/node",
  access: "read-only",
} as const;

export type ClosedJob = {
  names: Network;
  egress?: Egress;
  /** Of the worker. */
  allow?: readonly string[];
  settings?: Partial<RunnerSettings>;
  agent?: Egress;
  ca?: readonly string[];
  env?: Record<string, string>;
  limitsText?: object;
  onPid?: (pid: number) => void;
};

export type ClosedRun = ProcessExit & { stdout: string; stderr: string; isolation: Isolation };

/** Runs a command in a cage whose network is closed, as the runners do. */
export async function runClosed(stage: Stage, argv: string[], job: ClosedJob): Promise<ClosedRun> {
  const { names, allow, ca } = job;
  const settings = {
    limits: {},
    maxLimits: {},
    secrets: {},
    egress: allow === undefined ? undefined : { allow },
    ...job.settings,
  } as unknown as RunnerSettings;
  const deps = { settings, clock: systemClock, logger: silentLogger, outside: { network: names, ca } };
  const context = {
    document: { tenant_id: "default", egress: job.egress },
    lease: { job_id: "x", attempt: 1 },
    secrets: new AttemptSecrets(),
  };
  const limits = resolveLimits({ network: "closed", ...job.limitsText });
  const network = await closeNetwork(deps as unknown as RunnerDeps, context as unknown as RunContext, {
    limits,
    agent: job.agent,
  });
  if (network === null) throw new Error("the network is not closed");
  const plan = planJob(stage, argv, { limits, mounts: [nodeMount] });
  const started = await stage.sandbox.start(network.inPlan({ ...plan, env: { ...plan.env, ...job.env } }));
  const running = network.watch(started);
  job.onPid?.(running.pid);
  const exit = await running.exited;
  const read = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");
  return {
    ...exit,
    stdout: read(plan.stdoutFile),
    stderr: read(plan.stderrFile),
    isolation: running.isolation,
  };
}
