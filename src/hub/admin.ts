import { existsSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../runtime/files/private-file.ts";
import { readMacKey } from "../signing/key-files.ts";
import { type KeyRecord, readRing, readVerifyingKeys, ringFile } from "../signing/ring-file.ts";
import { refuseMoved } from "../store/database/database-copy.ts";
import type { SealFindings } from "../store/jobs/seal-check.ts";
import { type AuditVerdict, verifyAudit as verify } from "./audit/verify-audit.ts";
import { faultsShown } from "./backup/check-home.ts";
import { certificateRequest } from "./certs/certificate-request.ts";
import { ensureCerts, renewCerts } from "./certs/ensure-certs.ts";
import { expiringGivenCerts, type GivenCert } from "./certs/given-certs.ts";
import { type IssuedCert, issueCert } from "./certs/manage-certs.ts";
import { findRefusal, refuseOtherKeys } from "./database/database-history.ts";
import { nameOf } from "./database/database-place.ts";
import { refuseMissing, refuseUnused } from "./database/missing-database.ts";
import { findBrokenSeals, planMigration } from "./database/open-database.ts";
import { findLeftovers } from "./home/clear-leftovers.ts";
import { prepareHome } from "./home/first-start.ts";
import { type HubFile, hubFilePath } from "./home/home-lock.ts";
import { urlOf } from "./http/server.ts";
import { needsTakeOver } from "./migrate/take-over-at-start.ts";
import { loadHubSettings, lookAtSettings, placesOf } from "./settings/settings.ts";

export type { SealFindings } from "../store/jobs/seal-check.ts";
export type { AuditFault, AuditVerdict } from "./audit/verify-audit.ts";
export { backUp } from "./backup/back-up.ts";
export { restore } from "./backup/restore.ts";
export { type ListedCert, listCerts } from "./certs/issued-certs.ts";
export { expiringCerts, revokeCerts } from "./certs/manage-certs.ts";
export type { MigrationProgress } from "./migrate/copy-parts.ts";
export { abandonMigration, type Migrated, migrate } from "./migrate/migrate.ts";
export { describeDuration } from "./migrate/take-over-at-start.ts";

/** The entry point for commands that work on a home itself, whether or not its hub is running. */

export type HomeCall = {
  home: string;
  env: Record<string, string | undefined>;
  osUser: string;
  nowMs: number;
};

type UpgradePlan = {
  /** Null if there is no database yet. */
  schema: number | null;
  newest: number;
  steps: string[];
  database: string;
  /** Why the hub would refuse this database, apart from its schema. */
  refusal: string | null;
  /** What it would take to put its jobs into frames, by a sample; null if that is not to be done. */
  take_over: { rows: number; estimated_ms: number; needed_bytes: number; free_bytes: number } | null;
};

/** Finds what the next start of the home's hub would change in its database. */
export async function planUpgrade({ home, env }: Pick<HomeCall, "home" | "env">): Promise<UpgradePlan> {
  const { database, keysDir } = placesOf(home, await lookAtSettings({ home, env }));
  await refuseMissing(home, database);
  const plan = await planMigration(database);
  const { schema, newest, steps } = plan;
  const refusal = await findRefusal({ home, database, keysDir }, plan);
  const shown = { schema, newest, steps, database: nameOf(database), refusal };
  if (refusal !== null || !needsTakeOver(database, plan)) return { ...shown, take_over: null };
  const { freeBytesBeside, measureTakeOver } = await import("./migrate/measure-take-over.ts");
  const macKey = readMacKey(keysDir);
  const { rows, ms, neededBytes } = await measureTakeOver({ home, path: database.path, keysDir, macKey });
  const take_over = { rows, estimated_ms: Math.round(ms), needed_bytes: Math.round(neededBytes) };
  return { ...shown, take_over: { ...take_over, free_bytes: await freeBytesBeside(database.path) } };
}

/**
 * The schema of the home's database, null if there is none where the settings of this call say, and the newest one. Throws if
 * no hub of this version can use it.
 */
export async function readSchema(
  call: Pick<HomeCall, "home" | "env">,
): Promise<Pick<UpgradePlan, "schema" | "newest">> {
  const { database } = placesOf(call.home, await lookAtSettings(call));
  const { schema, newest } = await planMigration(database);
  return { schema, newest };
}

/** What killed commands have left in the home, or beside it. The next start of a hub there removes it. */
export async function listLeftovers(call: Pick<HomeCall, "home" | "env" | "nowMs">): Promise<string[]> {
  return findLeftovers({ home: call.home, settings: await lookAtSettings(call), nowMs: call.nowMs });
}

/** Creates the authority and the first certificates where they are missing. */
export async function initHomeCerts(call: HomeCall): Promise<void> {
  await prepareHome(call.home);
  await ensureCerts(call.home, await certificateRequestOf(call));
}

/** Replaces the certificates of the server and the first person; a running hub loads its own by itself. */
export async function renewHomeCerts(call: HomeCall): Promise<void> {
  await prepareHome(call.home);
  await renewCerts(call.home, await certificateRequestOf(call));
}

export type IssueCall = HomeCall & {
  user: string;
  tenant: string;
  isAdmin: boolean;
  out: string;
  /** The hub's address as seen from that machine; by default the address of the running hub. */
  url?: string | undefined;
  grpcPort?: number | undefined;
};

export async function issueHomeCert(call: IssueCall): Promise<IssuedCert & { url: string }> {
  const { user, tenant, isAdmin, out, nowMs, osUser } = call;
  await prepareHome(call.home);
  const hub = await hubAddress(call);
  const issued = await issueCert(call.home, { user, tenant, isAdmin, out, nowMs, hub, by: osUser });
  return { ...issued, url: hub.url };
}

/** Certificates outside the home that are named in the hub's settings and expire soon. */
export async function expiringCertsOfSettings(
  call: Pick<HomeCall, "home" | "env" | "nowMs">,
): Promise<GivenCert[]> {
  return expiringGivenCerts(await lookAtSettings(call), call.nowMs);
}

async function certificateRequestOf({ home, env, osUser, nowMs }: HomeCall) {
  return certificateRequest(await loadHubSettings({ home, flags: {}, env }), { osUser, nowMs });
}

/** The address as the running hub reports it, otherwise as the settings define it. */
async function hubAddress(call: IssueCall): Promise<{ url: string; grpcPort: number }> {
  const text = await readSmallFile(hubFilePath(call.home), { mustBePrivate: false });
  const running = text === null ? null : (JSON.parse(text) as HubFile);
  const settings = await loadHubSettings({ home: call.home, flags: {}, env: call.env });
  return {
    url: call.url ?? running?.url ?? urlOf(settings, settings.port),
    grpcPort: call.grpcPort ?? running?.grpc_port ?? settings.grpcPort,
  };
}

/** All keys with which the hub of a home has ever signed; none if no hub has its keys there. */
export async function readHomeKeys(call: Pick<HomeCall, "home" | "env">): Promise<KeyRecord[]> {
  const { keysDir } = placesOf(call.home, await lookAtSettings(call));
  return existsSync(join(keysDir, ringFile)) ? readRing(keysDir).keys : [];
}

/** Checks the audit trail of a home: files, database and signed heads. A hub may be running. */
export async function verifyAudit(input: {
  home: string;
  env: Record<string, string | undefined>;
}): Promise<AuditVerdict> {
  const { home } = input;
  const { database, keysDir } = placesOf(home, await lookAtSettings(input));
  const readKeys = () => readVerifyingKeys(keysDir);
  // Without keys this is not a home; that is reported before a missing database.
  readKeys();
  await refuseUnused(home, database);
  const plan = await planMigration(database);
  // The records that a moved database lacks are in the other one; here they would look like a tail that was cut off.
  refuseMoved(plan.move);
  refuseOtherKeys({ database, keysDir }, plan);
  return verify({ home, database, readKeys });
}

/** Checks the seals in the database of a home; at most a few broken ones are listed. A hub may be running. */
export async function verifySeals(input: Pick<HomeCall, "home" | "env">): Promise<SealFindings> {
  const { database, keysDir } = placesOf(input.home, await lookAtSettings(input));
  await refuseUnused(input.home, database);
  // It throws if the schema is older than what this version reads.
  await planMigration(database);
  return findBrokenSeals(database, { macKey: readMacKey(keysDir), most: faultsShown, isCompared: true });
}
