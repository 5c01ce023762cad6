import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { Role } from "../../core/identity.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { readCerts } from "./certs.ts";

/** A person or program that has access by a token or a certificate. */
export type Holder = {
  by: "token" | "certificate";
  /** The id of the token, or the serial number of the certificate. */
  id: string;
  name: string;
  userId: string;
  role: Role;
  tenantId: string | null;
  since: number;
  until: number | null;
  revokedAt: number | null;
};

/** All holders that the caller administers, newest first. */
export function useHolders() {
  return useQuery("holders", readHolders, { everyMs: 15_000 });
}

async function readHolders(): Promise<Holder[]> {
  const [tokens, certs] = await Promise.all([callHub(pageRoutes.listTokens, {}), readCerts()]);
  const byToken = tokens.body.map(
    (token): Holder => ({
      by: "token",
      id: token.id,
      name: token.worker_id ?? token.user_id,
      userId: token.user_id,
      role: token.role,
      tenantId: token.tenant_id,
      since: token.created_at,
      until: token.expires_at,
      revokedAt: token.revoked_at,
    }),
  );
  const byCert = certs.flatMap(({ serial, kind, role, user_id, ...cert }): Holder[] => {
    if (kind !== "client" || user_id === null || role === null) return [];
    const name = { name: user_id, userId: user_id, role, tenantId: cert.tenant_id };
    const times = { since: cert.issued_at, until: cert.expires_at, revokedAt: cert.revoked_at };
    return [{ by: "certificate", id: serial, ...name, ...times }];
  });
  return [...byToken, ...byCert].sort((a, b) => b.since - a.since);
}

/** The hub refuses the token or certificate from now on. */
export async function revokeHolder({ by, id }: Holder): Promise<void> {
  if (by === "token") await callHub(pageRoutes.revokeToken, { params: { id } });
  else await callHub(pageRoutes.revokeCert, { params: { serial: id } });
}
