import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveLimits } from "../src/core/limits.ts";
import { AttemptSecrets } from "../src/runners/attempt-secrets.ts";
import { closeNetwork } from "../src/runners/egress/close-network.ts";
import type { RunContext, RunnerDeps } from "../src/runners/runner.ts";
import { systemClock } from "../src/runtime/clock/clock.ts";
import { silentLogger } from "../src/runtime/log/logger.ts";
import { CagedSandbox } from "../src/sandbox/caged-sandbox.ts";
import type { LaunchPlan } from "../src/sandbox/sandbox.ts";
import { quantile } from "./_figures.ts";

/**
 * A download over TLS from this machine by curl in a cage: with the host's network, and through the proxy of a closed one, in
 * turns. Prints both rates and the median of their ratios. Usage: npm run bench -- egress [rounds]
 */
const bytes = 100 * 1024 ** 2;
const rounds = Number(process.argv[2] ?? 7);
const name = "download.test";

const dir = mkdtempSync(join(tmpdir(), "writ-bench-egress-"));
const [keyFile, certFile] = [join(dir, "key.pem"), join(dir, "cert.pem")];
const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
execFileSync("openssl", ["req", ...kind, "-keyout", keyFile, "-out", certFile, "-subj", `/CN=${name}`], {
  stdio: "ignore",
});
const server = fork(join(import.meta.dirname, "_egress-server.ts"), [String(bytes), keyFile, certFile]);
const [port] = (await once(server, "message")) as [number];
const sandbox = await CagedSandbox.open({
  workDir: dir,
  clock: systemClock,
  logger: silentLogger,
  pid: process.pid,
  uid: process.getuid!(),
  mayMove: false,
});

const ratios: number[] = [];
const rates = { host: [] as number[], closed: [] as number[] };
// The first round is for the compiler.
for (let round = 0; round <= rounds; round++) {
  const direct = await download("host", round);
  const through = await download("closed", round);
  if (round === 0) continue;
  rates.host.push(direct);
  rates.closed.push(through);
  ratios.push(through / direct);
}
const mb = (list: number[]): string => (quantile(list, 0.5) / 1e6).toFixed(0);
console.log(`100 MiB over TLS, direct: ${mb(rates.host)} MB/s; through the proxy: ${mb(rates.closed)} MB/s`);
console.log(
  `ratio: ${quantile(ratios, 0.5).toFixed(2)} (from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
);
await sandbox.close();
server.disconnect();
rmSync(dir, { recursive: true, force: true });

/** In bytes a second, as curl measures it. */
async function download(network: "host" | "closed", round: number): Promise<number> {
  const jobId = `bench-${network}-${round}`;
  const jobDir = join(dir, "jobs", jobId);
  const workDir = join(jobDir, "work");
  mkdirSync(workDir, { recursive: true, mode: 0o700 });
  const resolve = network === "host" ? ["--resolve", `${name}:${port}:127.0.0.1`] : [];
  const limits = resolveLimits({ network });
  const plan: LaunchPlan = {
    jobId,
    attempt: 1,
    argv: [
      "curl",
      "-sSk",
      "-o",
      "/dev/null",
      "-w",
      "%{size_download} %{time_total}",
      ...resolve,
      `https://${name}:${port}/`,
    ],
    env: { PATH: "/usr/bin:/bin" },
    cwd: sandbox.workDirInside(workDir),
    stdoutFile: join(jobDir, "stdout.log"),
    stderrFile: join(jobDir, "stderr.log"),
    outputBytesMax: 1024 ** 2,
    limits,
    asked: [],
    workDir,
  };
  const closed = await closeNetwork(runnerDeps(), runContext(), { limits, agent: undefined });
  const running = await sandbox.start(closed?.inPlan(plan) ?? plan);
  const { exitCode } = await (closed?.watch(running) ?? running).exited;
  const [size, seconds] = readFileSync(plan.stdoutFile, "utf8").split(" ").map(Number);
  if (exitCode !== 0 || size !== bytes) throw new Error(readFileSync(plan.stderrFile, "utf8"));
  return bytes / seconds!;
}

function runnerDeps(): RunnerDeps {
  const network = { resolve: async () => [{ address: "127.0.0.1", family: 4 }], ownAddresses: () => [] };
  const egress = { allow: [`*:${port}`, `127.0.0.1:${port}`] };
  const settings = { limits: {}, maxLimits: {}, secrets: {}, egress };
  return {
    settings,
    clock: systemClock,
    logger: silentLogger,
    outside: { network },
  } as unknown as RunnerDeps;
}

function runContext(): RunContext {
  const document = { tenant_id: "default", egress: { allow: [`${name}:${port}`] } };
  const lease = { job_id: "bench", attempt: 1 };
  return { document, lease, secrets: new AttemptSecrets() } as unknown as RunContext;
}
