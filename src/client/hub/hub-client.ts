import type { z } from "zod";
import { adminRoutes } from "../../contract/routes/admin-routes.ts";
import { auditRoutes } from "../../contract/routes/audit-routes.ts";
import { type HealthView as Health, probeRoutes } from "../../contract/routes/probe-routes.ts";
import type { tokenRequest } from "../../contract/shapes/admin-shapes.ts";
import { checkOptions } from "../../runtime/check-options.ts";
import type {
  AuditFilter,
  AuditRecord,
  Hubs,
  Identity,
  LockdownState,
  NewToken,
  ShownSetting,
  SigningKey,
  Token,
  TokenInput,
} from "../shapes.ts";
import { wireNames } from "../wire-names.ts";
import type { HubCaller } from "./hub-caller.ts";

/** What a client can ask of the hub itself: identity, tokens, keys, the audit trail, settings and health. */
export class HubClient {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  /** The secret of the new token is only in this response. */
  async createToken(token: TokenInput): Promise<NewToken> {
    const body = wireNames(token) as z.input<typeof tokenRequest>;
    return (await this.#hub.call(adminRoutes.createToken, { body })).body;
  }

  /** A code that logs a browser in as this client, once and within a minute. */
  async createLoginCode(): Promise<{ code: string; expires_in_sec: number }> {
    return (await this.#hub.call(adminRoutes.createLoginCode, {})).body;
  }

  async tokens(): Promise<Token[]> {
    return (await this.#hub.call(adminRoutes.listTokens, {})).body;
  }

  /** Exchanges this client's own token for a new one; the old one is no longer valid. */
  async refreshToken(options: { expiresInSec?: number | undefined } = {}): Promise<NewToken> {
    return (await this.#hub.call(adminRoutes.refreshToken, { body: wireNames(options) })).body;
  }

  async revokeToken(id: string): Promise<void> {
    await this.#hub.call(adminRoutes.revokeToken, { params: { id } });
  }

  /** The public keys that jobs are signed with. */
  async keys(): Promise<SigningKey[]> {
    return (await this.#hub.call(adminRoutes.listKeys, {})).body.keys;
  }

  /** Creates a new signing key. In an emergency the old one ends with the notice, and its leases with it. */
  async rotateKeys(
    options: { emergency?: boolean | undefined; noticeSec?: number | undefined } = {},
  ): Promise<SigningKey> {
    return (await this.#hub.call(adminRoutes.rotateKeys, { body: wireNames(options) })).body;
  }

  /** Revokes a replaced key; with `now`, every lease that it signed is void too. */
  async revokeKey(id: string, options: { now?: boolean } = {}): Promise<SigningKey> {
    return (await this.#hub.call(adminRoutes.revokeKey, { params: { id }, body: options })).body;
  }

  /** Matching records of the audit trail, newest first, from the hub's database and its files. */
  async *audit(filter: AuditFilter = {}, options: { pageSize?: number } = {}): AsyncGenerator<AuditRecord> {
    checkOptions("audit", options, { pageSize: true });
    const { pageSize = 200 } = options;
    let cursor: number | undefined;
    do {
      const query = { ...wireNames(filter), limit: pageSize, cursor };
      const { body, header } = await this.#hub.call(auditRoutes.searchAudit, { query });
      yield* body;
      const next = header("x-next-cursor");
      cursor = next === undefined ? undefined : Number(next);
    } while (cursor !== undefined);
  }

  /** The settings of the hub, without secrets. */
  async settings(): Promise<ShownSetting[]> {
    return (await this.#hub.call(adminRoutes.listSettings, {})).body;
  }

  /** The database, and the hubs that serve it. */
  async hubs(): Promise<Hubs> {
    return (await this.#hub.call(adminRoutes.listHubs, {})).body;
  }

  /** Whether the hub works, is locked, and reaches its MQTT broker. */
  async health(): Promise<Health> {
    return (await this.#hub.call(probeRoutes.getHealth, {})).body;
  }

  async lockdown(): Promise<LockdownState> {
    return (await this.#hub.call(auditRoutes.getLockdown, {})).body;
  }

  /** Stops all claims, and stops running jobs and puts them back, until somebody lifts the lockdown. */
  async lockDown(reason: string): Promise<void> {
    await this.#hub.call(auditRoutes.lockDown, { body: { reason } });
  }

  /** Of one tenant, or of the hub. */
  async liftLockdown(tenantId?: string): Promise<void> {
    await this.#hub.call(auditRoutes.liftLockdown, { query: { tenant_id: tenantId } });
  }

  async whoAmI(): Promise<Identity> {
    return (await this.#hub.call(adminRoutes.getSession, {})).body;
  }

  /** The addresses that this client may use. */
  async hubUrls(): Promise<string[]> {
    return (await this.#hub.find()).urls;
  }

  /** The addresses at which other machines reach the hub, as far as is known here. */
  async publicUrls(): Promise<string[]> {
    return (await this.#hub.find()).publicUrls;
  }

  /** The one of them that answered last, or that will be called first. */
  currentHub(): Promise<string> {
    return this.#hub.currentUrl();
  }

  /** Closes the idle connections; later calls are refused. */
  close(): void {
    this.#hub.close();
  }
}
