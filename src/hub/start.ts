import { join } from "node:path";
import type { Ids } from "../core/ids.ts";
import { FolderOutputs } from "../output/folder/folder-outputs.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type Failpoint, noFailpoint } from "../runtime/failpoint.ts";
import { openLogger } from "../runtime/logger.ts";
import { type Service, startAll, stopAll } from "../runtime/service.ts";
import { openKeyRing } from "../signing/key-ring.ts";
import { openSqliteStore } from "../store/sqlite/open-store.ts";
import { openChannels } from "./alerts/channels.ts";
import { createDigest } from "./alerts/digest.ts";
import { createResponder } from "./alerts/responder.ts";
import { createSender } from "./alerts/sender.ts";
import { WatchList } from "./alerts/watch-list.ts";
import { createSealer } from "./audit/sealer.ts";
import { certPaths } from "./certs/cert-paths.ts";
import { certsWish } from "./certs/certs-wish.ts";
import { type HubTls, openHubTls } from "./certs/hub-tls.ts";
import type { HubDeps } from "./deps.ts";
import { applyQuotas, ensureAdminToken, prepareHome } from "./first-start.ts";
import { lockHome, removeHubFile, writeHubFile } from "./home-lock.ts";
import { createApp } from "./http/app.ts";
import { OpenStreams } from "./http/open-streams.ts";
import { type HttpServer, startHttpServer } from "./http/server.ts";
import { type RpcServer, startRpcServer } from "./rpc/server.ts";
import { createCertWatch } from "./services/cert-watch.ts";
import { Dispatcher } from "./services/dispatcher.ts";
import { EventFeed } from "./services/event-feed.ts";
import { createKeyWatch } from "./services/key-watch.ts";
import { addLiveGauges, createMetrics } from "./services/metrics.ts";
import { OutputTally } from "./services/output-tally.ts";
import { RateLimits } from "./services/rate-limits.ts";
import { createReaper } from "./services/reaper.ts";
import { ReceiptChecker } from "./services/receipt-checker.ts";
import { RecordCache } from "./services/record-cache.ts";
import { createRetention } from "./services/retention.ts";
import { createScheduler } from "./services/scheduler.ts";
import { createStorage } from "./services/storage.ts";
import { type HubSettings, loadHubSettings, placesOf } from "./settings.ts";
import { systemIds } from "./system-ids.ts";

export type HubStart = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
  osUser: string;
  version: string;
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
};

export type RunningHub = {
  url: string;
  port: number;
  grpcPort: number;
  home: string;
  settings: HubSettings;
  /** Lets open calls end, then closes everything. */
  stop(): Promise<void>;
};

/** Starts a hub for a home: settings, lock, certificates, keys, store, services, ports, in this order. */
export async function startHub(start: HubStart): Promise<RunningHub> {
  await prepareHome(start.home);
  const settings = await loadHubSettings(start);
  const lock = lockHome(start.home);
  try {
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
  const { home, version } = start;
  const logger = openLogger({ file: join(home, "logs", "hub.log"), level: settings.logLevel });
  const nowMs = (start.clock ?? systemClock).nowMs();
  const tls = await openHubTls(home, settings, certsWish(settings, { osUser: start.osUser, nowMs }));
  const deps = await openDeps(start, settings, logger);
  const streams = new OpenStreams(deps.clock, (error) =>
    logger.error({ err: error }, "a stream could not be looked at"),
  );
  const channels = openChannels(settings, deps.clock);
  const services = [
    // The last to stop: its last signed head covers what the others have written.
    createSealer(deps),
    createReaper(deps),
    createScheduler(deps),
    createRetention(deps),
    createStorage(deps),
    createKeyWatch(deps),
    createResponder({ ...deps, channels }),
    ...createSender(deps, channels),
    ...(channels.some(({ name }) => name === "smtp") ? [createDigest(deps)] : []),
  ];
  let server: HttpServer | null = null;
  let rpc: RpcServer | null = null;
  let certWatch: Service | null = null;
  const stop = async () => {
    removeHubFile(home);
    await certWatch?.stop();
    deps.dispatcher.stop();
    deps.feed.stop();
    await streams.stop();
    await Promise.all([server?.stop(), rpc?.stop()]);
    await deps.receipts.stop();
    await stopAll(services);
    await deps.outputs.close();
    await deps.store.close();
    lock.release();
    logger.info("the hub has stopped");
    logger.close();
  };
  try {
    await deps.feed.start();
    deps.dispatcher.start(deps.store);
    await startAll(services);
    await streams.start();
    server = await startHttpServer(createApp({ ...deps, streams }), settings, tls.given ?? tls.own);
    rpc = await openRpc(deps, tls);
    certWatch = createCertWatch({ ...deps, osUser: start.osUser, http: server, rpc }, tls);
    await certWatch.start();
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
  const { url, port } = server;
  const grpcPort = rpc.port;
  const startedAt = deps.clock.nowMs();
  await writeHubFile(home, {
    url,
    port,
    grpc_port: grpcPort,
    pid: process.pid,
    version,
    started_at: startedAt,
  });
  logger.info({ url, grpc_port: grpcPort, version }, "the hub has started");
  return { url, port, grpcPort, home, settings, stop };
}

function openRpc(deps: HubDeps, { own, clientAuthorities }: HubTls): Promise<RpcServer> {
  return startRpcServer(deps, { pair: own, clientAuthorities, revokedFile: certPaths(deps.home).revoked });
}

async function openDeps(start: HubStart, settings: HubSettings, logger: HubDeps["logger"]): Promise<HubDeps> {
  const { home, version, clock = systemClock, ids = systemIds(), failpoint = noFailpoint } = start;
  const nowMs = clock.nowMs();
  const { databasePath, keysDir } = placesOf(home, settings);
  const keys = openKeyRing(keysDir, {
    nowMs,
    givenPrivateKeyPem: settings.signingKeyPem ?? undefined,
  });
  const store = await openSqliteStore({ path: databasePath, macKey: keys.macKey });
  await applyQuotas({ store, nowMs }, settings.quotas);
  await ensureAdminToken(home, { store, ids, nowMs }, { secret: settings.adminToken, osUser: start.osUser });
  // A restart must cost no job an attempt: every lease begins anew.
  const { extended } = await store.graceLeases({ nowMs, leaseMs: settings.leaseMs });
  if (extended.length > 0)
    logger.info({ extended: extended.length }, "leases that outlived the restart begin anew");
  const outputs = new FolderOutputs(join(home, "outputs"), { failpoint });
  // What they wrote before may have been taken by a hub that did not live to sync it.
  outputs.assumeUnsynced(extended);

  const dispatcher = new Dispatcher();
  const metrics = createMetrics(version);
  addLiveGauges(metrics, { store, dispatcher });
  return {
    store,
    keys,
    clock,
    ids,
    settings,
    logger,
    failpoint,
    dispatcher,
    metrics,
    version,
    outputs,
    outputTally: new OutputTally(store),
    home,
    auditDir: join(home, "audit"),
    watched: new WatchList(clock),
    receipts: new ReceiptChecker({ store, clock, logger, outputs }),
    feed: new EventFeed(store),
    limits: new RateLimits(clock),
    tokens: new RecordCache(clock, (secretHash) => store.findToken({ secretHash })),
    workers: new RecordCache(clock, (workerId) => store.getWorker({ workerId })),
    quotas: new RecordCache(clock, (tenantId) => store.getQuota({ tenantId })),
  };
}
