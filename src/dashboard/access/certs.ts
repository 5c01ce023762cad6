import type { z } from "zod";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { certView } from "../../contract/shapes/trust-view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";

export type Cert = z.infer<typeof certView>;

/** From here on `writ doctor` warns of a certificate too. */
export const certDueMs = 30 * 86_400_000;

export async function readCerts(): Promise<Cert[]> {
  return (await callHub(pageRoutes.listCerts, {})).body;
}

/** The certificates in use that expire soon. One that its holder has replaced by a newer one does not count. */
export function certsDue(certs: readonly Cert[], nowMs: number): Cert[] {
  const newest = new Map<string, Cert>();
  for (const cert of certs) {
    const { kind, user_id, tenant_id, role } = cert;
    const holder = JSON.stringify([kind, user_id, tenant_id, role]);
    const known = newest.get(holder);
    if (cert.revoked_at === null && (known === undefined || known.issued_at < cert.issued_at))
      newest.set(holder, cert);
  }
  return [...newest.values()].filter(({ expires_at }) => expires_at - nowMs < certDueMs);
}
