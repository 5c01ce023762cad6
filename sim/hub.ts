import { EventEmitter } from "node:events";
import { IncomingMessage, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { RouteName } from "../src/contract/routes/routes.ts";
import { type Ids, orderedUuids } from "../src/core/ids.ts";
import { createApp } from "../src/hub/http/app.ts";
import { OpenBodies } from "../src/hub/http/bodies/open-bodies.ts";
import { openExchange } from "../src/hub/http/exchange.ts";
import type { Reply } from "../src/hub/http/reply.ts";
import { OpenStreams } from "../src/hub/http/streams/open-streams.ts";
import { openDeps } from "../src/hub/open-deps.ts";
import { recover } from "../src/hub/recover.ts";
import { createClockWatch } from "../src/hub/services/clock-watch.ts";
import { createLookAround, createReaper } from "../src/hub/services/reaper.ts";
import { createScheduler } from "../src/hub/services/scheduler.ts";
import type { HubSettings } from "../src/hub/settings/settings.ts";
import { steadyClock } from "../src/runtime/clock/steady-clock.ts";
import { silentLogger } from "../src/runtime/log/logger.ts";
import { startAll } from "../src/runtime/service.ts";
import type { Defect } from "./defects.ts";
import type { Disk } from "./disk.ts";
import { settle } from "./settle.ts";
import { openSimStore, type SimStore } from "./store.ts";
import type { Life, World } from "./world.ts";

/** A request as the network delivers it. */
export type HubRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
};

/** What a handler writes to by itself: a stream of events. */
export class SimResponse extends EventEmitter {
  destroyed = false;
  headersSent = false;
  writableNeedDrain = false;
  readonly #onChunk: (chunk: string | Uint8Array) => void;

  constructor(onChunk: (chunk: string | Uint8Array) => void) {
    super();
    this.#onChunk = onChunk;
  }

  writeHead(): this {
    this.headersSent = true;
    return this;
  }

  flushHeaders(): void {}

  write(chunk: string | Uint8Array): boolean {
    if (!this.destroyed) this.#onChunk(chunk);
    return true;
  }

  end(): this {
    return this.destroy();
  }

  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.emit("close");
    return this;
  }
}

export type SimHub = {
  readonly life: Life;
  readonly wall: { offsetMs: number };
  readonly sim: SimStore;
  serve(request: HubRequest, outgoing: SimResponse): Promise<Reply & { route: RouteName | null }>;
  crash(): void;
};

export type HubParts = {
  world: World;
  disk: Disk;
  settings: HubSettings;
  defect: Defect;
  /** Continues where the last hub of this disk was. */
  ids: Ids;
  wall: { offsetMs: number };
};

/**
 * Starts the hub's use cases, its routes and the services that move jobs, on a database that may have a past. It has no
 * port and writes no file; the rest is what runs in every hub.
 */
export async function startSimHub(parts: HubParts): Promise<SimHub> {
  const { world, disk, settings, defect, ids, wall } = parts;
  const life: Life = { name: "hub", isOver: false };
  const clock = steadyClock(world.clockOf(life, wall));
  const sim = openSimStore(world, life, disk);
  const deps = await openDeps({
    home: disk.home,
    version: "0.0.0-sim",
    settings,
    logger: silentLogger,
    clock,
    ids,
    openStore: async () => ({ ...sim.store, ...defect(sim.store, sim) }),
  });
  const onError = (error: unknown): void => {
    throw error;
  };
  const streams = new OpenStreams(clock, onError);
  const bodies = new OpenBodies(clock, onError);
  await deps.leadership.start();
  await recover(deps);
  await startAll([
    deps.feed,
    createClockWatch(deps, clock),
    deps.statistics,
    createScheduler(deps),
    deps.refusals,
    deps.receipts,
    deps.signsOfLife,
    bodies,
    createReaper(deps),
    createLookAround(deps),
    streams,
    deps.dispatcher,
  ]);
  await settle();
  sim.begin();
  const app = createApp({ ...deps, streams, bodies });
  return {
    life,
    wall,
    sim,
    serve: (request, outgoing) => serve(app, request, outgoing),
    crash() {
      life.isOver = true;
      sim.crash();
    },
  };
}

async function serve(
  app: ReturnType<typeof createApp>,
  request: HubRequest,
  outgoing: SimResponse,
): Promise<Reply & { route: RouteName | null }> {
  const exchange = openExchange(incomingOf(request), outgoing as unknown as ServerResponse);
  const reply = await app(exchange);
  return { ...reply, route: exchange.route };
}

function incomingOf({ method, path, headers, body }: HubRequest): IncomingMessage {
  const incoming = new IncomingMessage(new Socket());
  incoming.method = method;
  incoming.url = path;
  const all = { host: "hub", ...headers, ...(body && { "content-length": String(body.length) }) };
  for (const [name, value] of Object.entries(all)) {
    incoming.headers[name.toLowerCase()] = value;
    incoming.rawHeaders.push(name, value);
  }
  if (body !== undefined && body.length > 0) incoming.push(body);
  incoming.push(null);
  return incoming;
}

/** Ids that the seed decides. They must differ between the lives of a hub, so all of them share one source. */
export function seededIds(world: World): Ids {
  const text = (count: number): string =>
    Buffer.from(world.random.bytes(count)).toString("base64url").replace(/^-/, "A");
  return {
    jobId: orderedUuids(() => world.random.bytes(16)),
    secret: () => text(32),
    recordId: () => text(9),
  };
}
