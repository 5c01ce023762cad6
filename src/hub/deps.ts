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

/** What the use cases of the hub depend on. Everything that can differ between a test and production is here. */
export type HubDeps = {
  store: Store;
  /** The same for all hubs on this database. */
  databaseId: string;
  /** Whether this hub does what only one hub of a database may do, and which others there are. */
  leadership: Leadership;
  keys: KeyRing;
  clock: Clock;
  ids: Ids;
  settings: HubSettings;
  outputs: KeptOutputs;
  /** The bytes of files that users and jobs have stored. */
  objects: Objects;
  /** How much jobs have written. */
  outputTally: OutputTally;
  logger: Logger;
  /** Whether the database is away or a disk is full, as far as errors have shown it. */
  outage: DatabaseOutage;
  /** For errors that no caller is told of. */
  failures: FailureLog;
  /** Says a sentence to whoever started the hub. */
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
  /** Who is let in with a certificate. */
  revoked: RevocationList;
  homeAdmins: HomeAdmins;
  /** Of this home, to list and revoke them. */
  issuedCerts: IssuedCerts;
  metrics: HubMetrics;
  statistics: Statistics;
  /** Spans for a collector, if one is named. */
  telemetry: Telemetry;
  /** Whose requests are recorded in full. */
  watched: WatchList;
  /** Records refusals; many of one caller become few records. */
  refusals: RefusalLog;
  home: string;
  /** The files of the audit trail, one for each day that is no longer in the database. */
  auditDir: string;
  auditCheck: AuditCheck;
  receipts: ReceiptChecker;
  /** Whether leases are judged by the clock at present. */
  renewals: RefusedRenewals;
  signsOfLife: SignsOfLife;
  damage: DamageLog;
  version: string;
};

/** The rules for judging changes of jobs, as of now. */
export function rulesNow(deps: Pick<HubDeps, "clock" | "settings" | "renewals">): ChangeRules {
  return {
    nowMs: deps.clock.nowMs(),
    leaseMs: deps.settings.leaseMs,
    backoffScale: deps.settings.backoffScale,
    areRenewalsRefused: deps.renewals.areRefused,
  };
}
