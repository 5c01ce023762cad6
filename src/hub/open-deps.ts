import { join } from "node:path";
import type { Ids } from "../core/ids.ts";
import { KeptOutputs } from "../output/kept-outputs.ts";
import { type Clock, systemClock } from "../runtime/clock/clock.ts";
import { type Failpoint, noFailpoint } from "../runtime/failpoint.ts";
import { openTelemetry } from "../runtime/telemetry/telemetry.ts";
import { openKeyRing } from "../signing/key-ring.ts";
import type { DatabaseInUse } from "../store/database/database-in-use.ts";
import { type HubSeat, onlySeat } from "../store/database/hub-seat.ts";
import type { Store } from "../store/store.ts";
import { WatchList } from "./alerts/watch-list.ts";
import { AuditCheck } from "./audit/audit-check.ts";
import { RefusalLog } from "./audit/refusal-log.ts";
import { certPaths } from "./certs/cert-paths.ts";
import { HomeAdmins } from "./certs/home-admins.ts";
import { IssuedCerts } from "./certs/issued-certs.ts";
import { RevocationList } from "./certs/revocations.ts";
import { DatabaseOutage } from "./database/database-outage.ts";
import { openStore } from "./database/open-database.ts";
import type { HubDeps } from "./deps.ts";
import { FailureLog } from "./failure-log.ts";
import { Leadership } from "./leadership.ts";
import { MqttPublisher } from "./mqtt/mqtt-publisher.ts";
import { mqttSettingsOf } from "./mqtt/mqtt-settings.ts";
import { openObjects } from "./open-objects.ts";
import { openOutputs } from "./open-outputs.ts";
import { DamageLog } from "./services/damage-log.ts";
import { Dispatcher } from "./services/dispatcher.ts";
import { EventFeed } from "./services/event-feed.ts";
import { addLiveGauges, createMetrics } from "./services/metrics/metrics.ts";
import { Statistics } from "./services/metrics/statistics.ts";
import { StreamCounts } from "./services/metrics/stream-counts.ts";
import { RateLimits } from "./services/rate-limits.ts";
import { ReceiptChecker } from "./services/receipt-checker.ts";
import { RecordCache } from "./services/record-cache.ts";
import { RefusedRenewals } from "./services/refused-renewals.ts";
import { SignsOfLife } from "./services/signs-of-life.ts";
import { OutputTally } from "./services/storage/output-tally.ts";
import { placesOf } from "./settings/settings.ts";
import { systemIds } from "./system-ids.ts";

type DepsSources = Pick<HubDeps, "home" | "version" | "settings" | "logger"> & {
  clock?: Clock | undefined;
  ids?: Ids | undefined;
  failpoint?: Failpoint | undefined;
  onNotice?: ((line: string) => void) | undefined;
  seat?: HubSeat | undefined;
  inUse?: DatabaseInUse | undefined;
  /** Opens another store than the one of the settings, for simulations. */
  openStore?: ((macKey: Buffer) => Promise<Store>) | undefined;
};

/** Opens keys, database and outputs, and builds what the use cases depend on. Nothing runs yet. */
export async function openDeps(sources: DepsSources): Promise<HubDeps> {
  const base = openBase(sources);
  const { home, version, settings, logger, clock, failures, leadership } = base;
  const kept = await openKept(sources, base);
  const { store, outputs } = kept;
  const dispatcher = new Dispatcher(store);
  const feed = new EventFeed(store, clock);
  const metrics = createMetrics(version);
  const mqtt = await mqttSettingsOf(settings);
  const refusals = new RefusalLog(store, clock, (error) =>
    failures.error(error, "counted refusals could not be recorded"),
  );
  const certs = certPaths(home);
  const caches = openCaches(store, clock);
  addLiveGauges(metrics, { store, dispatcher, clock, leadership });
  return {
    ...base,
    ...kept,
    ...caches,
    dispatcher,
    metrics,
    statistics: new Statistics({ store, clock, failures }),
    telemetry: await openTraces(base, metrics),
    outputTally: new OutputTally(store),
    auditDir: join(home, "audit"),
    auditCheck: new AuditCheck({ home, settings, clock, store, failures }),
    revoked: new RevocationList(certs.revoked),
    homeAdmins: new HomeAdmins(certs.homeAdmins),
    issuedCerts: new IssuedCerts(home),
    watched: new WatchList(clock),
    refusals,
    receipts: new ReceiptChecker({ store, logger, failures, outputs, refusals }),
    renewals: new RefusedRenewals(),
    signsOfLife: new SignsOfLife({ store, workers: caches.workers, settings, clock, failures }),
    damage: new DamageLog({ store, clock, logger }),
    feed,
    mqtt: mqtt && new MqttPublisher({ store, leadership, feed, clock, logger, failures, metrics }, mqtt),
    limits: new RateLimits(clock, () => Math.max(1, leadership.hubs.length)),
    streamCounts: new StreamCounts(),
  };
}

/** The parts that need no file and no database. */
function openBase(sources: DepsSources) {
  const { home, version, settings, logger } = sources;
  const { clock = systemClock, ids = systemIds(), failpoint = noFailpoint } = sources;
  const tell = sources.onNotice ?? (() => {});
  const outage = new DatabaseOutage(logger, clock, tell);
  const failures = new FailureLog(logger, outage);
  const leadership = new Leadership(sources.seat ?? onlySeat(() => {}), { logger, failures });
  return { home, version, settings, logger, clock, ids, failpoint, tell, outage, failures, leadership };
}

type Base = ReturnType<typeof openBase>;

/** The stored parts: keys, jobs, outputs and files. */
async function openKept(sources: DepsSources, { home, settings, clock, failpoint, leadership }: Base) {
  const { inUse } = sources;
  const { database, keysDir } = placesOf(home, settings);
  const keys = openKeyRing(keysDir, {
    nowMs: clock.nowMs(),
    givenPrivateKeyPem: settings.signingKeyPem ?? undefined,
  });
  const { macKey } = keys;
  const store = await (sources.openStore?.(macKey) ??
    openStore(database, { macKey, term: () => leadership.term, inUse }));
  const outputs = new KeptOutputs(await openOutputs({ home, settings, clock, failpoint, inUse }), store);
  const objects = await openObjects(home, settings, clock);
  return { keys, store, databaseId: (await store.getDatabase()).id, outputs, objects };
}

/** Records that nearly every call needs. */
function openCaches(store: Store, clock: Clock) {
  const workers = new RecordCache(clock, (workerId) => store.getWorker({ workerId }));
  store.onCommit((notice) => {
    for (const { workerId } of notice.workers) workers.forget(workerId);
  });
  return {
    workers,
    tokens: new RecordCache(clock, (secretHash) => store.findToken({ secretHash })),
    quotas: new RecordCache(clock, (tenantId) => store.getQuota({ tenantId })),
  };
}

function openTraces({ settings, version, clock, logger }: Base, metrics: HubDeps["metrics"]) {
  return openTelemetry({
    endpoint: settings.otlpEndpoint,
    headers: settings.otlpHeaders,
    resource: { "service.name": "writ-hub", "service.version": version },
    clock,
    logger,
    counts: {
      exported: (count) => metrics.spans.inc({ outcome: "exported" }, count),
      dropped: (count) => metrics.spans.inc({ outcome: "dropped" }, count),
    },
  });
}
