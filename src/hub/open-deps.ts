import { join } from "node:path";
import type { Ids } from "../core/ids.ts";
import { FolderOutputs } from "../output/folder/folder-outputs.ts";
import { KeptOutputs } from "../output/kept-outputs.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type Failpoint, noFailpoint } from "../runtime/failpoint.ts";
import { openTelemetry } from "../runtime/telemetry/telemetry.ts";
import { openKeyRing } from "../signing/key-ring.ts";
import { openSqliteStore } from "../store/sqlite/open-store.ts";
import { WatchList } from "./alerts/watch-list.ts";
import { AuditCheck } from "./audit/audit-check.ts";
import { RefusalLog } from "./audit/refusal-log.ts";
import { certPaths } from "./certs/cert-paths.ts";
import { HomeAdmins } from "./certs/home-admins.ts";
import { IssuedCerts } from "./certs/issued-certs.ts";
import { RevocationList } from "./certs/revocations.ts";
import type { HubDeps } from "./deps.ts";
import { MqttPublisher } from "./mqtt/mqtt-publisher.ts";
import { mqttSettingsOf } from "./mqtt/mqtt-settings.ts";
import { openObjects } from "./open-objects.ts";
import { DamageLog } from "./services/damage-log.ts";
import { Dispatcher } from "./services/dispatcher.ts";
import { EventFeed } from "./services/event-feed.ts";
import { addLiveGauges, createMetrics } from "./services/metrics.ts";
import { OutputTally } from "./services/output-tally.ts";
import { RateLimits } from "./services/rate-limits.ts";
import { ReceiptChecker } from "./services/receipt-checker.ts";
import { RecordCache } from "./services/record-cache.ts";
import { Statistics } from "./services/statistics.ts";
import { StreamCounts } from "./services/stream-counts.ts";
import { placesOf } from "./settings.ts";
import { systemIds } from "./system-ids.ts";

type DepsSources = Pick<HubDeps, "home" | "version" | "settings" | "logger"> & {
  clock?: Clock | undefined;
  ids?: Ids | undefined;
  failpoint?: Failpoint | undefined;
};

/** Opens keys, database and outputs, and builds what the use cases depend on. Nothing runs yet. */
export async function openDeps(sources: DepsSources): Promise<HubDeps> {
  const { home, version, settings, logger } = sources;
  const { clock = systemClock, ids = systemIds(), failpoint = noFailpoint } = sources;
  const { databasePath, keysDir } = placesOf(home, settings);
  const keys = openKeyRing(keysDir, {
    nowMs: clock.nowMs(),
    givenPrivateKeyPem: settings.signingKeyPem ?? undefined,
  });
  const store = await openSqliteStore({ path: databasePath, macKey: keys.macKey });
  const outputs = new KeptOutputs(new FolderOutputs(join(home, "outputs"), { failpoint }), store);
  const objects = await openObjects(home, settings, clock);
  const dispatcher = new Dispatcher(store);
  const feed = new EventFeed(store, clock);
  const metrics = createMetrics(version);
  const mqtt = await mqttSettingsOf(settings);
  const refusals = new RefusalLog(store, clock, (error) =>
    logger.error({ err: error }, "counted refusals could not be recorded"),
  );
  const certs = certPaths(home);
  addLiveGauges(metrics, { store, dispatcher, clock });
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
    statistics: new Statistics({ store, clock, logger }),
    telemetry: await openTelemetry({
      endpoint: settings.otlpEndpoint,
      headers: settings.otlpHeaders,
      resource: { "service.name": "writ-hub", "service.version": version },
      clock,
      logger,
      counts: {
        exported: (count) => metrics.spans.inc({ outcome: "exported" }, count),
        dropped: (count) => metrics.spans.inc({ outcome: "dropped" }, count),
      },
    }),
    version,
    outputs,
    objects,
    outputTally: new OutputTally(store),
    home,
    auditDir: join(home, "audit"),
    auditCheck: new AuditCheck({ home, settings, clock, store, logger }),
    revoked: new RevocationList(certs.revoked),
    homeAdmins: new HomeAdmins(certs.homeAdmins),
    issuedCerts: new IssuedCerts(home),
    watched: new WatchList(clock),
    refusals,
    receipts: new ReceiptChecker({ store, logger, outputs, refusals }),
    damage: new DamageLog({ store, clock, logger }),
    feed,
    mqtt: mqtt === null ? null : new MqttPublisher({ store, feed, clock, logger, metrics }, mqtt),
    limits: new RateLimits(clock),
    streamCounts: new StreamCounts(),
    tokens: new RecordCache(clock, (secretHash) => store.findToken({ secretHash })),
    workers: new RecordCache(clock, (workerId) => store.getWorker({ workerId })),
    quotas: new RecordCache(clock, (tenantId) => store.getQuota({ tenantId })),
  };
}
