import { WritError } from "../../../core/errors.ts";
import type { NewEvent, Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { CertAct } from "../../certs/cert-acts.ts";
import type { ListedCert } from "../../certs/issued-certs.ts";
import { revokeCerts } from "../../certs/manage-certs.ts";
import type { HubDeps } from "../../deps.ts";
import { recordEvent } from "../audit/record-event.ts";
import { isHidden } from "./tenant-wall.ts";

type Deps = Pick<HubDeps, "home" | "homeAdmins" | "issuedCerts" | "clock" | "store">;

export type VisibleCert = Pick<
  ListedCert,
  "serial" | "kind" | "role" | "issuedAt" | "expiresAt" | "revokedAt" | "certificate"
> & {
  userId: string | null;
  /** Null for the authority, the server, and a person who administers all tenants. */
  tenantId: string | null;
};

/** The certificates of this home that the caller administers. */
export async function listCerts(deps: Deps, identity: Identity): Promise<VisibleCert[]> {
  return (await allCerts(deps)).filter((cert) => !isHidden(identity, cert));
}

async function allCerts(deps: Deps): Promise<VisibleCert[]> {
  const issued = await deps.issuedCerts.list(deps.clock.nowMs());
  return issued.map(({ user, tenant, ...cert }) => ({
    ...cert,
    userId: user,
    tenantId: deps.homeAdmins.has(cert.fingerprint) ? null : tenant,
  }));
}

/** Revokes a person's certificate; the hub refuses it from its next call on. */
export async function revokeCert(
  deps: Deps,
  { identity, serial, origin }: { identity: Identity; serial: string; origin: Origin },
): Promise<void> {
  const known = (await listCerts(deps, identity)).find((cert) => cert.serial === serial);
  if (known === undefined) throw new WritError("NOT_FOUND", `there is no certificate ${serial}`);
  if (known.revokedAt !== null) return;
  await revokeCerts(deps.home, { serial, nowMs: deps.clock.nowMs() });
  const { userId, tenantId } = known;
  const details = { serial, user_id: userId };
  await recordEvent(deps, { event: "CERT_REVOKED", origin, tenantId, details });
}

/** Records the acts of `writ certs` in this home, made with or without a running hub. */
export async function recordCertActs(deps: Deps, acts: readonly CertAct[]): Promise<void> {
  const known = new Map((await allCerts(deps)).map((cert) => [cert.serial, cert]));
  const ts = deps.clock.nowMs();
  const events = acts.map(({ act, serial, by, at }): NewEvent => {
    // A certificate of another authority can be revoked too; only its serial number is known.
    const { userId = null, tenantId = null, role = null } = known.get(serial) ?? {};
    const origin = { userId: by, ipAddress: null, userAgent: null, endpoint: null, method: null };
    const event = act === "issue" ? "CERT_ISSUED" : "CERT_REVOKED";
    const details = { serial, user_id: userId, role, done_at: at };
    return { event, ts, tenantId, jobId: null, ownerId: null, details, origin };
  });
  await deps.store.recordEvents({ events });
}
