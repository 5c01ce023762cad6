import type { Ids } from "../core/ids.ts";
import type { ChangeRules } from "../core/jobs/outcome.ts";
import type { Quota } from "../core/jobs/quota.ts";
import type { Objects } from "../objects/objects.ts";
import type { KeptOutputs } from "../output/kept-outputs.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { Logger } from "../runtime/log/logger.ts";
import type { Telemetry } from "../runtime/telemetry/telemetry.ts";
import type { KeyRing } from "../signing/key-ring.ts";
import type { TokenRecord } from "../store/access-store.ts";
import type { Store } from "../store/store.ts";
import type { WorkerRecord } from "../store/worker-store.ts";
import type { WatchList } from "./alerts/watch-list.ts";
import type { AuditCheck } from "./audit/audit-check.ts";
import type { RefusalLog } from "./audit/refusal-log.ts";
import type { HomeAdmins } from "./certs/home-admins.ts";
import type { IssuedCerts } from "./certs/issued-certs.ts";
import type { RevocationList } from "./certs/revocations.ts";
import type { DatabaseOutage } from "./database/database-outage.ts";
import type { FailureLog } from "./failure-log.ts";
import type { Leadership } from "./leadership.ts";
import type { MqttPublisher } from "./mqtt/mqtt-publisher.ts";
import type { DamageLog } from "./services/damage-log.ts";
import type { Dispatcher } from "./services/dispatcher.ts";
import type { EventFeed } from "./services/event-feed.ts";
import type { HubMetrics } from "./services/metrics/metrics.ts";
import type { Statistics } from "./services/metrics/statistics.ts";
import type { StreamCounts } from "./services/metrics/stream-counts.ts";
import type { RateLimits } from "./services/rate-limits.ts";
import type { ReceiptChecker } from "./services/receipt-checker.ts";
import type { RecordCache } from "./services/record-cache.ts";
import type { RefusedRenewals } from "./services/refused-renewals.ts";
import type { SignsOfLife } from "./services/signs-of-life.ts";
import type { OutputTally } from "./services/storage/output-tally.ts";
import type { HubSettings } from "./settings/settings.ts";

/** The dependencies of the hub's use cases: everything that can differ between a test and production. */
export type HubDeps = {
  store: Store;
  /** The same for all hubs on this database. */
  databaseId: string;
  /** Whether this hub leads, and which other hubs there are. */
  leadership: Leadership;
  keys: KeyRing;
  clock: Clock;
  ids: Ids;
  settings: HubSettings;
  outputs: KeptOutputs;
  /** The bytes of files that users and jobs have stored. */
  objects: Objects;
  /** The sizes of outputs that the store has not recorded yet. */
  outputTally: OutputTally;
  logger: Logger;
  /** Whether the database is away or a disk is full, as far as errors have shown it. */
  outage: DatabaseOutage;
  /** For errors that reach no caller. */
  failures: FailureLog;
  /** Prints a sentence for the person who started the hub. */
  tell(line: string): void;
  failpoint: Failpoint;
  feed: EventFeed;
  /** Sends events to a broker, if there is one. */
  mqtt: MqttPublisher | null;
  dispatcher: Dispatcher;
  limits: RateLimits;
  streamCounts: StreamCounts;
  /** Tokens by the hash of their secret, workers by id, quotas by tenant. */
  tokens: RecordCache<TokenRecord | null>;
  workers: RecordCache<WorkerRecord | null>;
  quotas: RecordCache<Quota>;
  /** The revoked certificates. */
  revoked: RevocationList;
  homeAdmins: HomeAdmins;
  /** The certificates that this home has issued, to list and revoke them. */
  issuedCerts: IssuedCerts;
  metrics: HubMetrics;
  statistics: Statistics;
  /** Sends spans to a collector, if one is set. */
  telemetry: Telemetry;
  /** The workers and tenants whose requests are recorded in full. */
  watched: WatchList;
  /** Records refusals, with few records for many refusals of one caller. */
  refusals: RefusalLog;
  home: string;
  /** The files of the audit trail, one for each day that is no longer in the database. */
  auditDir: string;
  auditCheck: AuditCheck;
  receipts: ReceiptChecker;
  /** Whether leases expire at present: not while renewals are refused. */
  renewals: RefusedRenewals;
  signsOfLife: SignsOfLife;
  damage: DamageLog;
  version: string;
};

/** The rules at this moment for judging changes of jobs. */
export function rulesNow(deps: Pick<HubDeps, "clock" | "settings" | "renewals">): ChangeRules {
  return {
    nowMs: deps.clock.nowMs(),
    leaseMs: deps.settings.leaseMs,
    backoffScale: deps.settings.backoffScale,
    areRenewalsRefused: deps.renewals.areRefused,
  };
}
