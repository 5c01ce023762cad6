import { hostname } from "node:os";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Ids } from "../core/ids.ts";
import { type Clock, systemClock } from "../runtime/clock/clock.ts";
import { type SteadyClock, steadyClock } from "../runtime/clock/steady-clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { FileLock } from "../runtime/files/file-lock.ts";
import { openLogger } from "../runtime/log/logger.ts";
import { type Service, startAll, stopAll, together } from "../runtime/service.ts";
import { hasMacKey } from "../signing/key-files.ts";
import { DatabaseInUse } from "../store/database/database-in-use.ts";
import type { HubSeat } from "../store/database/hub-seat.ts";
import { openChannels } from "./alerts/channels.ts";
import { createDigest } from "./alerts/digest.ts";
import { createOutageWatch } from "./alerts/outage-watch.ts";
import { createResponder } from "./alerts/responder.ts";
import { createSender } from "./alerts/sender.ts";
import { createTroubleWatch } from "./alerts/trouble-watch.ts";
import { createWatchListReader } from "./alerts/watch-list.ts";
import { createSealer } from "./audit/sealer.ts";
import { certificateRequest } from "./certs/certificate-request.ts";
import { type HubTls, openHubTls } from "./certs/hub-tls.ts";
import { noteAddressLimit } from "./connections/note-address-limit.ts";
import { checkHistory, readHistory, refuseOtherKeys } from "./database/database-history.ts";
import { planMigration, takeSeat } from "./database/open-database.ts";
import type { HubDeps } from "./deps.ts";
import { clearLeftovers } from "./home/clear-leftovers.ts";
import { applyQuotas, ensureAdminToken, prepareHome } from "./home/first-start.ts";
import { lockHome, removeHubFile, writeHubFile } from "./home/home-lock.ts";
import { createFilesWarning, separateFilesWarning } from "./home/separate-files.ts";
import { createApp } from "./http/app.ts";
import { OpenBodies } from "./http/bodies/open-bodies.ts";
import { createListener } from "./http/listener.ts";
import { HttpServer } from "./http/server.ts";
import { OpenStreams } from "./http/streams/open-streams.ts";
import { OpenWires } from "./http/wire/open-wires.ts";
import { unlessLeadLost, whileLeading } from "./leadership.ts";
import type { OnProgress } from "./migrate/copy-parts.ts";
import { takeOverAtStart } from "./migrate/take-over-at-start.ts";
import { openDeps } from "./open-deps.ts";
import { recover } from "./recover.ts";
import { RpcServer } from "./rpc/server.ts";
import { createCertWatch } from "./services/cert-watch.ts";
import { createClockWatch, followDatabase } from "./services/clock-watch.ts";
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
import { type HubSettings, loadHubSettings, placesOf } from "./settings/settings.ts";

export { startForwarding } from "./forward/start-forwarding.ts";

type HubStart = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
  osUser: string;
  version: string;
  /** The last record that a person accepts, although the home knows later ones. */
  acceptLoss?: number | undefined;
  /** Called with a sentence for the person who started the hub, while it runs. */
  onNotice?: (line: string) => void;
  /** Is called while the database gets another form. What it throws ends the start, and the next one continues. */
  onTakeOver?: OnProgress;
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
};

type RunningHub = {
  url: string;
  /** The address for programs on this machine. */
  localUrl: string;
  port: number;
  grpcPort: number;
  home: string;
  settings: HubSettings;
  /** Warnings for the person who started the hub, one sentence each. */
  warnings: readonly string[];
  /** Lets open calls end, then closes everything. */
  stop(): Promise<void>;
};

/**
 * Starts a hub for a home: settings, lock, certificates, keys, database, recovery, and then everything that runs.
 * Why: ADR 0023, ADR 0083.
 */
export async function startHub(start: HubStart): Promise<RunningHub> {
  await prepareHome(start.home);
  const settings = await loadHubSettings(start);
  const lock = lockHome(start.home);
  try {
    const inUse = new DatabaseInUse();
    const seat = await takeSeat(placesOf(start.home, settings).database, { home: start.home, inUse });
    return await startSeated(start, settings, { seat, inUse, lock }).catch(async (error) => {
      await seat.leave();
      throw error;
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Held = { seat: HubSeat; inUse: DatabaseInUse; lock: FileLock };

async function startSeated(
  start: HubStart,
  settings: HubSettings,
  { seat, inUse, lock }: Held,
): Promise<RunningHub> {
  const { home, version, osUser } = start;
  const { database, keysDir } = placesOf(home, settings);
  // Before anything is created or changed in the home: it throws if the database is too old for this version.
  const plan = await planMigration(database);
  const clock = steadyClock(start.clock ?? systemClock);
  const logger = openLogger({ file: join(home, "logs", "hub.log"), level: settings.logLevel });
  followDatabase(clock, await seat.readClock(), logger);
  const tls = await openHubTls(
    home,
    settings,
    certificateRequest(settings, { osUser, nowMs: clock.nowMs() }),
  );
  // If the folder of the keys is not mounted, new keys would be the wrong ones.
  if (!hasMacKey(keysDir)) refuseOtherKeys({ database, keysDir }, plan);
  const acceptance = { acceptLoss: start.acceptLoss ?? null };
  const history = await readHistory({ home, database, keysDir }, acceptance);
  const { onTakeOver = () => {}, onNotice = () => {} } = start;
  // Before the database gets another form, which needs the room that they take.
  const { wasSampleKilled } = await clearLeftovers({ home, settings, nowMs: clock.nowMs(), logger });
  const toTakeOver = { home, database, keysDir, plan, wasSampleKilled };
  await takeOverAtStart({ ...toTakeOver, logger, onProgress: onTakeOver, onNotice });
  const deps = await openDeps({ ...start, clock, settings, logger, seat, inUse });
  const close = async (): Promise<void> => {
    await deps.objects.close();
    await deps.outputs.appended.close();
    await deps.leadership.stop();
    await deps.store.close();
    lock.release();
    logger.info("the hub has stopped");
    logger.close();
  };
  try {
    await deps.leadership.start();
    await checkHistory(deps, history, { ...acceptance, database });
    await applyQuotas(deps, settings.quotas);
    await ensureAdminToken(deps, { secret: settings.adminToken, osUser });
    await recover(deps);
    const ports = openPorts(deps, tls);
    const services = hubServices(deps, { ...ports, tls, osUser, clock });
    await startAll(services);
    const { url, localUrl = url, port } = ports.http;
    const grpcPort = ports.rpc.port;
    logger.info({ url, grpc_port: grpcPort, version }, "the hub has started");
    void checkObjects(deps);
    const warning = separateFilesWarning(deps);
    const warnings = warning === null ? [] : [warning];
    const stop = () => stopAll(services).finally(close);
    return { url, localUrl, port, grpcPort, home, settings, warnings, stop };
  } catch (error) {
    // The start has failed; an error of the close would hide why.
    await close().catch(() => {});
    throw error;
  }
}

/** Reports an object store that does not answer. Jobs without files run without it. */
async function checkObjects({ objects, failures }: HubDeps): Promise<void> {
  try {
    await objects.check();
  } catch (error) {
    const details = error instanceof WritError ? error.details : undefined;
    failures.error(error, "files cannot be stored at present", { details });
  }
}

type Ports = {
  http: HttpServer;
  wires: OpenWires;
  rpc: RpcServer;
  streams: OpenStreams;
  bodies: OpenBodies;
};

function openPorts(deps: HubDeps, { own, given, clientAuthorities }: HubTls): Ports {
  const streams = new OpenStreams(deps.clock, (error) =>
    deps.failures.error(error, "an open stream could not be checked"),
  );
  const bodies = new OpenBodies(deps.clock, (error) =>
    deps.failures.error(error, "an unfinished body could not be checked"),
  );
  const httpDeps = { ...deps, streams, bodies };
  const app = createApp(httpDeps);
  const listener = createListener(httpDeps, app);
  const wires = new OpenWires(httpDeps, app);
  const onAddressLimit = noteAddressLimit(deps, "HTTP");
  const http = new HttpServer(listener, { ...deps, onAddressLimit, upgrades: wires }, given ?? own);
  const rpc = new RpcServer(deps, { pair: own, clientAuthorities });
  return { http, wires, rpc, streams, bodies };
}

/** Everything that runs in a hub, in the order in which it starts. It stops in reverse order. */
function hubServices(
  deps: HubDeps,
  parts: Ports & { tls: HubTls; osUser: string; clock: SteadyClock },
): Service[] {
  const { http, wires, rpc, streams, bodies, tls, osUser, clock } = parts;
  const lead = (service: Service): Service =>
    whileLeading(
      deps.leadership,
      service,
      unlessLeadLost((error) =>
        deps.failures.error(error, "a service of the leader could not start or stop", {
          service: service.name,
        }),
      ),
    );
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
