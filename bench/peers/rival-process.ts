import { cpuByThread, treeCpuUs } from "../_cpu.ts";
import { type ActName, type ActOptions, type ActResult, acts, type Rival } from "./rival.ts";
import { type RivalName, type RivalServer, rivals } from "./rivals.ts";

/** What the benchmark asks of this process: to open a rival first, then one act after the other. */
export type Order =
  | { kind: "open"; rival: RivalName; place: RivalServer }
  | { kind: "act"; act: ActName; options: ActOptions }
  | { kind: "clear" }
  | { kind: "close" };

/** CPU time of a job in microseconds, user and kernel: in the client's process and below, and in the server's. */
export type CpuUs = { client: number; server: number; threads: Record<string, number> };
export type Measured = ActResult & { cpuUs: CpuUs };
export type Reply = { kind: "done"; measured?: Measured } | { kind: "failed"; message: string };

let rival: Rival;
let serverPids: readonly number[] = [];

process.on("message", (order: Order) => {
  obey(order).then(
    (measured) => reply({ kind: "done", ...(measured === undefined ? {} : { measured }) }),
    (error: Error) => reply({ kind: "failed", message: error.stack ?? error.message }),
  );
});
// Without this the end of the benchmark would leave a process behind.
process.on("disconnect", () => process.exit(0));

async function obey(order: Order): Promise<Measured | undefined> {
  if (order.kind === "open") {
    rival = await rivals[order.rival].open(order.place);
    serverPids = order.place.pids;
  }
  if (order.kind === "act") return measure(order.act, order.options);
  if (order.kind === "clear") await rival.clear();
  if (order.kind === "close") await rival.close();
  return undefined;
}

async function measure(act: ActName, options: ActOptions): Promise<Measured> {
  const before = { client: treeCpuUs(process.pid), server: serverCpuUs(), threads: serverThreads() };
  const result = await acts[act](rival, options);
  const perJob = (us: number) => Math.round(us / result.jobs);
  const threads: Record<string, number> = {};
  for (const [name, us] of Object.entries(serverThreads())) {
    const used = perJob(us - (before.threads[name] ?? 0));
    if (used > 0) threads[name] = used;
  }
  const client = perJob(treeCpuUs(process.pid) - before.client);
  const server = perJob(serverCpuUs() - before.server);
  return { ...result, cpuUs: { client, server, threads } };
}

function serverCpuUs(): number {
  return serverPids.reduce((sum, pid) => sum + treeCpuUs(pid), 0);
}

/** Those of the process that the client talks to; a server behind it is one line. */
function serverThreads(): Record<string, number> {
  const [front, ...behind] = serverPids;
  const threads = front === undefined ? {} : cpuByThread(front);
  if (behind.length > 0) threads["database"] = behind.reduce((sum, pid) => sum + treeCpuUs(pid), 0);
  return threads;
}

function reply(message: Reply): void {
  process.send!(message);
}
