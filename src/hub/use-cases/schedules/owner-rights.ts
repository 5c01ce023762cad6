import { defaultTenant, isTokenUsable } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";

type Owner = { tenantId: string; userId: string; putWith: string };

/**
 * Whether the owner of a schedule could still submit its jobs: while a token of the tenant and user is valid, or a certificate of
 * them. What was read is kept for one round.
 */
export class OwnerRights {
  readonly #deps: HubDeps;
  #tokens: Promise<Set<string>> | null = null;
  #certs: Promise<Set<string>> | null = null;

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  async has(owner: Owner): Promise<boolean> {
    this.#tokens ??= this.#readTokens();
    if ((await this.#tokens).has(nameOf(owner))) return true;
    this.#certs ??= this.#readCerts();
    const certs = await this.#certs;
    if (certs.has(nameOf(owner))) return true;
    return this.#isForeign(owner, certs);
  }

  async #readTokens(): Promise<Set<string>> {
    const nowMs = this.#deps.clock.nowMs();
    const tokens = await this.#deps.store.listTokens();
    const usable = tokens.filter(
      (token) => isTokenUsable(token, nowMs) && (token.role === "user" || token.role === "admin"),
    );
    return new Set(
      usable.map(({ tenantId, userId }) => nameOf({ tenantId: tenantId ?? defaultTenant, userId })),
    );
  }

  async #readCerts(): Promise<Set<string>> {
    const { issuedCerts, clock } = this.#deps;
    const listed = await issuedCerts.list(clock.nowMs());
    const names = listed.flatMap((cert) => {
      if (cert.kind !== "client" || cert.user === null) return [];
      const isValid = cert.revokedAt === null && cert.expiresAt > clock.nowMs();
      const name = nameOf({ tenantId: cert.tenant ?? defaultTenant, userId: cert.user });
      return isValid ? [`cert:${cert.serial}`, name] : [`cert:${cert.serial}`];
    });
    return new Set(names);
  }

  /** A certificate of an authority that is not ours is in no list; it counts until it is revoked here. */
  #isForeign({ putWith }: Owner, certs: Set<string>): boolean {
    if (!putWith.startsWith("cert:") || certs.has(putWith)) return false;
    return !this.#deps.revoked.has(putWith.slice("cert:".length));
  }
}

function nameOf({ tenantId, userId }: Pick<Owner, "tenantId" | "userId">): string {
  return JSON.stringify([tenantId, userId]);
}
