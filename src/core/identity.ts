export const roles = ["admin", "user", "worker", "viewer"] as const;
export type Role = (typeof roles)[number];

/** The caller, as identified by a token or certificate. A null tenant means every tenant (admin, viewer, worker). */
export type Identity = {
  tokenId: string;
  role: Role;
  tenantId: string | null;
  userId: string;
  /** Set when the token is valid only for this worker. */
  workerId: string | null;
};

/** The `tokenId` of a person who is known by a certificate with this serial number. */
export function certificateTokenId(serial: string): string {
  return `cert:${serial}`;
}

/** Whether the caller is known by a certificate, shown to gRPC or exchanged for a token. */
export function isOfCertificate({ tokenId }: Pick<Identity, "tokenId">): boolean {
  return tokenId.startsWith("cert:");
}

/** A token that is revoked or expired is not valid. */
export function isTokenUsable(
  token: { revokedAt: number | null; expiresAt: number | null },
  nowMs: number,
): boolean {
  return token.revokedAt === null && (token.expiresAt === null || token.expiresAt > nowMs);
}

export const defaultTenant = "default";

type JobAccess = "allowed" | "forbidden" | "hidden";

/**
 * Whether this caller may see or change this job. A job of another tenant is hidden: it must look exactly like one that
 * does not exist. A job of another user of the same tenant is visible but forbidden.
 */
export function accessToJob(
  identity: Identity,
  job: { tenantId: string; userId: string },
  to: "read" | "change",
): JobAccess {
  if (identity.tenantId !== null && identity.tenantId !== job.tenantId) return "hidden";
  if (identity.role === "admin") return "allowed";
  if (identity.role === "viewer") return to === "read" ? "allowed" : "forbidden";
  if (identity.role === "user" && identity.userId === job.userId) return "allowed";
  return "forbidden";
}

/**
 * What a kind hides, such as the values of an environment, may be secret: only the job's user and administrators may
 * read it.
 */
export function mayReadHidden(identity: Identity, job: { tenantId: string; userId: string }): boolean {
  return identity.role !== "viewer" && accessToJob(identity, job, "read") === "allowed";
}
