import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { startTestHub, stillEnv } from "./hub.ts";
import { completedJob } from "./jobs.ts";

const troubles = ["away", "silent", "refusing"] as const;
type Times = Record<"none" | (typeof troubles)[number], number[]>;

/** How long jobs take in hubs with a broker in trouble, and in one without, in ms. Each round is one job in each of them. */
export async function timeJobs(isToContinue: (round: number) => boolean): Promise<Times> {
  const ports = {
    away: await closedPort(),
    silent: await listenOn(() => {}),
    refusing: await listenOn((near) => void near.end(Buffer.from([0x20, 2, 0, 5]))),
  };
  const hubs = { none: await startTestHub(stillEnv) };
  for (const name of troubles)
    Object.assign(hubs, {
      [name]: await startTestHub({ ...stillEnv, WRIT_MQTT_URL: `mqtt://127.0.0.1:${ports[name]}` }),
    });
  onTestFinished(async () => {
    for (const hub of Object.values(hubs)) await hub.stop();
  });
  const times: Times = { none: [], away: [], silent: [], refusing: [] };
  // In turns, so that whatever else the machine does slows all of them alike.
  for (let round = 0; isToContinue(round); round++) {
    for (const [name, hub] of Object.entries(hubs)) {
      const startedMs = performance.now();
      await completedJob(hub);
      times[name as keyof Times].push(performance.now() - startedMs);
    }
  }
  return times;
}

/** The quantile of each trouble, divided by that without a broker. */
export function ratiosOf(times: Times, quantile: number): number[] {
  const at = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length * quantile)]!;
  return troubles.map((name) => at(times[name]) / at(times.none));
}

export function shownRatios(ratios: readonly number[]): string {
  return ratios.map((ratio) => ratio.toFixed(2)).join(", ");
}

/** A server that treats each connection as the test asks. */
export async function listenOn(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
