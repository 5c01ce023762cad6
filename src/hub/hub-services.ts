import { hostname } from "node:os";
import type { SteadyClock } from "../runtime/clock/steady-clock.ts";
import { type Service, together } from "../runtime/service.ts";
import { openChannels } from "./alerts/channels.ts";
import { createDigest } from "./alerts/digest.ts";
import { createOutageWatch } from "./alerts/outage-watch.ts";
import { createResponder } from "./alerts/responder.ts";
import { createSender } from "./alerts/sender.ts";
import { createTroubleWatch } from "./alerts/trouble-watch.ts";
import { createWatchListReader } from "./alerts/watch-list.ts";
import { createSealer } from "./audit/sealer.ts";
import type { HubTls } from "./certs/hub-tls.ts";
import type { HubDeps } from "./deps.ts";
import { removeHubFile, writeHubFile } from "./home/home-lock.ts";
import { createFilesWarning } from "./home/separate-files.ts";
import { unlessLeadLost, whileLeading } from "./leadership.ts";
import type { Ports } from "./open-ports.ts";
import { createCertWatch } from "./services/cert-watch.ts";
import { createClockWatch } from "./services/clock-watch.ts";
import { createKeyWatch } from "./services/key-watch.ts";
import { createLookAround, createMakeUp, createReaper } from "./services/reaper.ts";
import { createScheduleClock } from "./services/schedule-clock.ts";
import { createScheduler } from "./services/scheduler.ts";
import { createFileCleaner } from "./services/storage/file-cleaner.ts";
import { createOutputCompactor } from "./services/storage/output-compactor.ts";
import { createRetention } from "./services/storage/retention.ts";
import { createStorage } from "./services/storage/storage.ts";
import { createStoreCheck } from "./services/store-check.ts";
import { createStoreWatch } from "./services/store-watch.ts";
import { placesOf } from "./settings/settings.ts";
import { createWebhooks } from "./webhooks/create-webhooks.ts";

/** Everything that runs in a hub, in the order in which it starts. It stops in reverse order. */
export function hubServices(
  deps: HubDeps,
  parts: Ports & { tls: HubTls; osUser: string; clock: SteadyClock },
): Service[] {
  const { http, wires, rpc, streams, bodies, tls, osUser, clock } = parts;
  const lead = leaderOnly(deps);
  const channels = openChannels(deps.settings, deps.clock);
  return [
    // First: other services ask it how far the log reaches.
    deps.feed,
    // Stops after everything that writes events, so that its last signed head covers them all.
    lead(createSealer(deps)),
    createStoreWatch(deps, channels),
    ...(channels.length === 0 ? [] : [createOutageWatch(deps, channels)]),
    createClockWatch(deps, clock),
    // Stops after everything that moves jobs, and writes what it has counted.
    deps.statistics,
    // Stops after everything that records spans, and sends the last of them.
    deps.telemetry,
    lead(createScheduler(deps)),
    createScheduleClock(deps),
    lead(createWebhooks(deps)),
    lead(createRetention(deps)),
    createStorage(deps),
    createOutputCompactor(deps),
    lead(createFileCleaner(deps)),
    createKeyWatch(deps),
    // Before the ports: its first position in the log is the present end.
    lead(createResponder({ ...deps, channels })),
    ...createSender(deps, channels).map(lead),
    createWatchListReader(deps),
    // Before the ports, for the same reason.
    ...(deps.mqtt === null ? [] : [lead(deps.mqtt)]),
    ...(channels.some(({ name }) => name === "smtp") ? [lead(createDigest(deps))] : []),
    // Stops after the ports, and records its counts.
    deps.refusals,
    // Stops after the ports, and checks the receipts that have arrived.
    deps.receipts,
    // Stops after the ports, and writes when each worker last called.
    deps.signsOfLife,
    bodies,
    // These stop at the same time: each gives its open calls the same few seconds.
    together("ports", [http, wires, rpc]),
    // Workers can reconnect only now, and have one lease to do so.
    lead(createReaper(deps)),
    createMakeUp(deps),
    createLookAround(deps),
    ...(channels.length === 0 ? [] : [lead(createTroubleWatch({ ...deps, channels }))]),
    // These end calls that would stay open for ever, so they stop before the ports wait for open calls.
    streams,
    deps.dispatcher,
    createCertWatch({ ...deps, osUser, http, rpc }, tls),
    ...storeCheck(deps),
    createFilesWarning(deps),
    // Announces where the hub can be reached: the last to start, the first to stop.
    announcement(deps, { http, rpc }),
  ];
}

/** What only the leading hub runs. */
function leaderOnly({ leadership, failures }: HubDeps): (service: Service) => Service {
  return (service) =>
    whileLeading(
      leadership,
      service,
      unlessLeadLost((error) =>
        failures.error(error, "a service of the leader could not start or stop", { service: service.name }),
      ),
    );
}

/** A server checks its own files. */
function storeCheck(deps: HubDeps): Service[] {
  const { database } = placesOf(deps.home, deps.settings);
  return database.kind === "file" ? [createStoreCheck(deps, database.path)] : [];
}

function announcement(
  { home, version, clock, leadership }: HubDeps,
  { http, rpc }: Pick<Ports, "http" | "rpc">,
): Service {
  return {
    name: "hub.json",
    async start() {
      await leadership.introduce({ name: `${hostname()}:${home}`, url: http.url, version });
      await writeHubFile(home, {
        url: http.url,
        local_url: http.localUrl,
        port: http.port,
        grpc_port: rpc.port,
        pid: process.pid,
        version,
        started_at: clock.nowMs(),
      });
    },
    async stop() {
      removeHubFile(home);
      await leadership.withdraw();
    },
  };
}
