import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Ids } from "../core/ids.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import { openLogger } from "../runtime/logger.ts";
import { type Service, startAll, stopAll, together } from "../runtime/service.ts";
import { type SteadyClock, steadyClock } from "../runtime/steady-clock.ts";
import { openChannels } from "./alerts/channels.ts";
import { createDigest } from "./alerts/digest.ts";
import { createResponder } from "./alerts/responder.ts";
import { createSender } from "./alerts/sender.ts";
import { createSealer } from "./audit/sealer.ts";
import { certificateRequest } from "./certs/certificate-request.ts";
import { type HubTls, openHubTls } from "./certs/hub-tls.ts";
import { checkHistory, readHistory } from "./database-history.ts";
import { lockDatabase } from "./database-lock.ts";
import type { HubDeps } from "./deps.ts";
import { applyQuotas, ensureAdminToken, prepareHome } from "./first-start.ts";
import { lockHome, removeHubFile, writeHubFile } from "./home-lock.ts";
import { createListener } from "./http/listener.ts";
import { OpenBodies } from "./http/open-bodies.ts";
import { OpenStreams } from "./http/open-streams.ts";
import { HttpServer } from "./http/server.ts";
import { openDeps } from "./open-deps.ts";
import { recover } from "./recover.ts";
import { RpcServer } from "./rpc/server.ts";
import { createCertWatch } from "./services/cert-watch.ts";
import { createClockWatch } from "./services/clock-watch.ts";
import { createFileCleaner } from "./services/file-cleaner.ts";
import { createKeyWatch } from "./services/key-watch.ts";
import { createReaper } from "./services/reaper.ts";
import { createRetention } from "./services/retention.ts";
import { createScheduler } from "./services/scheduler.ts";
import { createStorage } from "./services/storage.ts";
import { createStoreCheck } from "./services/store-check.ts";
import { createStoreWatch } from "./services/store-watch.ts";
import { type HubSettings, loadHubSettings, placesOf } from "./settings.ts";

type HubStart = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
  osUser: string;
  version: string;
  /** A person accepts that the database ends at this record, although the home knows later ones. */
  acceptLoss?: number | undefined;
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
};

type RunningHub = {
  url: string;
  port: number;
  grpcPort: number;
  home: string;
  settings: HubSettings;
  /** Lets open calls end, then closes everything. */
  stop(): Promise<void>;
};

/** Starts a hub for a home: settings, lock, certificates, keys, database, recovery, and then everything that runs. */
export async function startHub(start: HubStart): Promise<RunningHub> {
  await prepareHome(start.home);
  const settings = await loadHubSettings(start);
  const locks = [lockHome(start.home)];
  const lock = {
    release() {
      for (const held of locks.toReversed()) held.release();
    },
  };
  try {
    locks.push(lockDatabase(placesOf(start.home, settings).databasePath, start.home));
    return await startLocked(start, settings, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(
  start: HubStart,
  settings: HubSettings,
  lock: { release(): void },
): Promise<RunningHub> {
  const { home, version, osUser } = start;
  const clock = steadyClock(start.clock ?? systemClock);
  const logger = openLogger({ file: join(home, "logs", "hub.log"), level: settings.logLevel });
  const tls = await openHubTls(
    home,
    settings,
    certificateRequest(settings, { osUser, nowMs: clock.nowMs() }),
  );
  const { databasePath, keysDir } = placesOf(home, settings);
  const acceptance = { acceptLoss: start.acceptLoss ?? null };
  const history = await readHistory({ home, databasePath, keysDir }, acceptance);
  const deps = await openDeps({ ...start, clock, settings, logger });
  const close = async (): Promise<void> => {
    await deps.objects.close();
    await deps.outputs.close();
    await deps.store.close();
    lock.release();
    logger.info("the hub has stopped");
    logger.close();
  };
  try {
    await checkHistory(deps, history, { ...acceptance, databasePath });
    await applyQuotas(deps, settings.quotas);
    await ensureAdminToken(deps, { secret: settings.adminToken, osUser });
    await recover(deps);
    const ports = openPorts(deps, tls);
    const services = hubServices(deps, { ...ports, tls, osUser, clock });
    await startAll(services);
    const { url, port } = ports.http;
    const grpcPort = ports.rpc.port;
    logger.info({ url, grpc_port: grpcPort, version }, "the hub has started");
    void checkObjects(deps);
    return { url, port, grpcPort, home, settings, stop: () => stopAll(services).finally(close) };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Jobs without files run all the same. */
async function checkObjects({ objects, logger }: HubDeps): Promise<void> {
  try {
    await objects.check();
  } catch (error) {
    const details = error instanceof WritError ? error.details : undefined;
    logger.error({ err: error, details }, "files cannot be stored at present");
  }
}

type Ports = { http: HttpServer; rpc: RpcServer; streams: OpenStreams; bodies: OpenBodies };

function openPorts(deps: HubDeps, { own, given, clientAuthorities }: HubTls): Ports {
  const streams = new OpenStreams(deps.clock, (error) =>
    deps.logger.error({ err: error }, "an open stream could not be checked"),
  );
  const bodies = new OpenBodies(deps.clock, (error) =>
    deps.logger.error({ err: error }, "an unfinished body could not be checked"),
  );
  const http = new HttpServer(createListener({ ...deps, streams, bodies }), deps, given ?? own);
  const rpc = new RpcServer(deps, { pair: own, clientAuthorities });
  return { http, rpc, streams, bodies };
}

/** Everything that runs in a hub, in the order in which it starts. It stops in reverse order. */
function hubServices(
  deps: HubDeps,
  parts: Ports & { tls: HubTls; osUser: string; clock: SteadyClock },
): Service[] {
  const { http, rpc, streams, bodies, tls, osUser, clock } = parts;
  const channels = openChannels(deps.settings, deps.clock);
  return [
    // The others ask it how far the log reaches.
    deps.feed,
    // Stops after everything that writes events, so that its last signed head covers them all.
    createSealer(deps),
    createStoreWatch(deps, channels),
    createClockWatch(deps, clock),
    // Stops after everything that moves jobs, and writes what it has counted.
    deps.statistics,
    // Stops after everything that records spans, and sends the last of them.
    deps.telemetry,
    createScheduler(deps),
    createRetention(deps),
    createStorage(deps),
    createFileCleaner(deps),
    createKeyWatch(deps),
    // Before anybody can call: its first position in the log is the end of what is there.
    createResponder({ ...deps, channels }),
    ...createSender(deps, channels),
    // Before anybody can call, for the same reason.
    ...(deps.mqtt === null ? [] : [deps.mqtt]),
    ...(channels.some(({ name }) => name === "smtp") ? [createDigest(deps)] : []),
    // Stops when nobody can be refused any more, and records what it has counted.
    deps.refusals,
    // Stops when no more receipts can arrive, and checks those that have arrived.
    deps.receipts,
    bodies,
    // These stop at the same time: each gives its open calls the same few seconds.
    together("ports", [http, rpc]),
    // Workers can come back only now, and have one lease to do so.
    createReaper(deps),
    // These end calls that would stay open for ever, so they stop before the ports wait for open calls.
    streams,
    deps.dispatcher,
    createCertWatch({ ...deps, osUser, http, rpc }, tls),
    createStoreCheck(deps, placesOf(deps.home, deps.settings).databasePath),
    // Announces where the hub can be reached: the last to start, the first to stop.
    hubFile(deps, { http, rpc }),
  ];
}

function hubFile({ home, version, clock }: HubDeps, { http, rpc }: Pick<Ports, "http" | "rpc">): Service {
  return {
    name: "hub.json",
    start: () =>
      writeHubFile(home, {
        url: http.url,
        port: http.port,
        grpc_port: rpc.port,
        pid: process.pid,
        version,
        started_at: clock.nowMs(),
      }),
    stop: async () => removeHubFile(home),
  };
}
