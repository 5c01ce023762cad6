import { cpuByThread, treeCpuUs } from "../_cpu.ts";
import { type ActName, type ActOptions, type ActResult, acts, type Rival } from "./rival.ts";
import { type Place, type RivalName, rivals } from "./rivals.ts";

/** What the benchmark asks of this process: to open a rival first, then one act after the other. */
export type Order =
  | { kind: "open"; rival: RivalName; place: Place }
  | { kind: "act"; act: ActName; options: ActOptions }
  | { kind: "clear" }
  | { kind: "close" };

/** CPU time of a job in microseconds, user and kernel: in the client's process and below, and in the server's. */
export type CpuUs = { client: number; server: number; threads: Record<string, number> };
export type Measured = ActResult & { cpuUs: CpuUs };
export type Reply = { kind: "done"; measured?: Measured } | { kind: "failed"; message: string };

let rival: Rival;
let serverPid = 0;

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
    serverPid = order.place.pid;
  }
  if (order.kind === "act") return measure(order.act, order.options);
  if (order.kind === "clear") await rival.clear();
  if (order.kind === "close") await rival.close();
  return undefined;
}

async function measure(act: ActName, options: ActOptions): Promise<Measured> {
  const before = {
    client: treeCpuUs(process.pid),
    server: treeCpuUs(serverPid),
    threads: cpuByThread(serverPid),
  };
  const result = await acts[act](rival, options);
  const perJob = (us: number) => Math.round(us / result.jobs);
  const threads: Record<string, number> = {};
  for (const [name, us] of Object.entries(cpuByThread(serverPid))) {
    const used = perJob(us - (before.threads[name] ?? 0));
    if (used > 0) threads[name] = used;
  }
  const client = perJob(treeCpuUs(process.pid) - before.client);
  const server = perJob(treeCpuUs(serverPid) - before.server);
  return { ...result, cpuUs: { client, server, threads } };
}

function reply(message: Reply): void {
  process.send!(message);
}
