import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { needPeers } from "./needs.ts";
import type { ActName, ActOptions } from "./rival.ts";
import type { Measured, Order, Reply } from "./rival-process.ts";
import { type RivalName, type RivalServer, rivals, type ServerName, servers } from "./rivals.ts";

/** An act that never ends would hold a run for ever; the slowest of them takes seconds. */
const actWithinMs = 300_000;

export type Contestant = {
  name: RivalName;
  act(name: ActName, options: ActOptions): Promise<Measured>;
  clear(): Promise<void>;
};

/**
 * Starts the servers and, for each rival, a process with its client, hands them to `run`, and ends all of them. Each
 * client has a process of its own, so that no rival pays for what another one left in memory.
 */
export async function withRivals<T>(
  names: readonly RivalName[],
  run: (contestants: Contestant[]) => Promise<T>,
): Promise<T> {
  const needs = new Set(names.flatMap((name) => rivals[name].needs));
  if (needs.size > 0) needPeers([...needs]);
  const ends: (() => Promise<unknown>)[] = [];
  const endAll = async () => {
    for (const end of ends.splice(0).reverse())
      await end().catch((error: Error) => console.error(`bench: ${error.message}`));
  };
  const interrupt = () => void endAll().then(() => process.exit(130));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const started = new Map<ServerName, RivalServer>();
  const serve = async (server: ServerName): Promise<RivalServer> => {
    const running = started.get(server);
    if (running !== undefined) return running;
    console.error(`bench: starting ${server}`);
    const { stop, ...place } = await servers[server](serve);
    started.set(server, place);
    ends.push(stop);
    return place;
  };
  try {
    const contestants: Contestant[] = [];
    for (const name of names) {
      const place = await serve(rivals[name].server);
      const child = fork(join(import.meta.dirname, "rival-process.ts"), { stdio: ["ignore", 2, 2, "ipc"] });
      ends.push(() => endOf(name, child));
      contestants.push(await contestantOf(name, child, place));
    }
    return await run(contestants);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    await endAll();
  }
}

async function contestantOf(rival: RivalName, child: ChildProcess, place: RivalServer): Promise<Contestant> {
  const order = (order: Order) => obey(rival, child, order);
  const { pids, port, url, token } = place;
  await order({ kind: "open", rival, place: { pids, port, url, token } });
  return {
    name: rival,
    act: async (act, options) => (await order({ kind: "act", act, options }))!,
    clear: async () => {
      await order({ kind: "clear" });
    },
  };
}

function obey(rival: RivalName, child: ChildProcess, order: Order): Promise<Measured | undefined> {
  return new Promise((resolve, reject) => {
    const what = order.kind === "act" ? order.act : order.kind;
    const fail = (why: string) => settle(() => reject(new Error(`${rival}, ${what}: ${why}`)));
    const timer = setTimeout(() => fail("did not end in time"), actWithinMs);
    const onExit = () => fail("its process ended");
    const onReply = (reply: Reply) =>
      reply.kind === "failed" ? fail(reply.message) : settle(() => resolve(reply.measured));
    const settle = (end: () => void) => {
      clearTimeout(timer);
      child.off("exit", onExit).off("message", onReply);
      end();
    };
    child.on("exit", onExit).on("message", onReply);
    child.send(order);
  });
}

async function endOf(rival: RivalName, child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  // A rival that cannot close ends with the channel, which is what this waits for.
  await obey(rival, child, { kind: "close" }).catch(() => {});
  if (child.connected) child.disconnect();
  await exited;
}
