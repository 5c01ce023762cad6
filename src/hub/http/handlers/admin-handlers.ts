import type { adminRoutes } from "../../../contract/routes/admin-routes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import type { TokenRecord } from "../../../store/access-store.ts";
import { authenticate } from "../../use-cases/access/authenticate.ts";
import { listHubs } from "../../use-cases/access/list-hubs.ts";
import { createToken, refreshToken, revokeToken } from "../../use-cases/access/manage-tokens.ts";
import {
  createLoginCode,
  createSession,
  redeemLoginCode,
  removeSession,
  sessionIdOf,
} from "../../use-cases/access/sessions.ts";
import { isHidden, mayServe } from "../../use-cases/access/tenant-wall.ts";
import { removeWorker, setWorker, unknownWorker } from "../../use-cases/workers/manage-workers.ts";
import { workerView } from "../../views/worker-view.ts";
import { type Answer, type Call, done, type Handlers } from "../call.ts";
import { sessionCookieOf, sessionSecretOf } from "../credentials.ts";

export const adminHandlers: Handlers<
  Exclude<keyof typeof adminRoutes, "listKeys" | "rotateKeys" | "revokeKey" | "listCerts" | "revokeCert">
> = {
  async listWorkers({ deps, identity, query: { samples } }) {
    const { tenantId } = identity;
    const workers = (await deps.store.listWorkers()).filter((worker) => mayServe(worker, tenantId));
    const views = workers.map((worker) => workerView(deps, worker, { tenantId, samples }));
    return { status: 200, body: await Promise.all(views) };
  },

  async getWorker({ deps, identity, params }) {
    const worker = await deps.store.getWorker({ workerId: params.id });
    if (worker === null || !mayServe(worker, identity.tenantId)) throw unknownWorker(params.id);
    return { status: 200, body: await workerView(deps, worker, identity) };
  },

  blockWorker: (call) => change(call, { blocked: true }),
  unblockWorker: (call) => change(call, { blocked: false, draining: false }),
  drainWorker: (call) => change(call, { draining: true }),
  undrainWorker: (call) => change(call, { draining: false }),

  async removeWorker({ deps, identity, origin, params, query }) {
    await removeWorker(deps, { identity, origin, workerId: params.id, bootId: query.boot_id });
    return done;
  },

  async createSession({ deps, credentials, body, exchange, origin }) {
    if (body.code !== undefined && body.token !== undefined) {
      throw invalidArgument({ path: "code", message: "must not be given with a token" });
    }
    const bearer = body.token ?? credentials.bearer ?? "";
    const identity =
      body.code === undefined
        ? await authenticate(deps, { bearer, session: null }, origin)
        : await redeemLoginCode(deps, body.code, origin);
    const known = { ...origin, userId: identity.userId };
    const before = sessionSecretOf(deps, exchange.incoming);
    const { secret, maxAgeSec } = await createSession(deps, { identity, origin: known, before });
    const isSecure = isTls(exchange.incoming.socket) || deps.settings.publicUrl?.startsWith("https:");
    const secure = isSecure ? "; Secure" : "";
    const cookie = `${sessionCookieOf(deps)}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSec}${secure}`;
    return { status: 200, body: identityView(identity, secret), headers: { "Set-Cookie": cookie } };
  },

  async createLoginCode({ deps, identity }) {
    const { code, expiresInSec } = await createLoginCode(deps, identity);
    return { status: 201, body: { code, expires_in_sec: expiresInSec } };
  },

  async getSession({ identity, credentials }) {
    return { status: 200, body: identityView(identity, credentials.session) };
  },

  async removeSession({ deps, credentials }) {
    if (credentials.session !== null) await removeSession(deps, credentials.session);
    const cookie = `${sessionCookieOf(deps)}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`;
    return { ...done, headers: { "Set-Cookie": cookie } };
  },

  async createToken({ deps, identity, origin, body }) {
    const request = {
      role: body.role,
      tenantId: body.tenant_id,
      userId: body.user_id,
      workerId: body.worker_id,
      expiresInSec: body.expires_in_sec,
    };
    const { id, secret } = await createToken(deps, { identity, origin, request });
    return { status: 201, body: { id, token: secret } };
  },

  async refreshToken({ deps, identity, origin, body }) {
    const { id, secret } = await refreshToken(deps, { identity, origin, expiresInSec: body?.expires_in_sec });
    return { status: 201, body: { id, token: secret } };
  },

  async listTokens({ deps, identity }) {
    const tokens = await deps.store.listTokens();
    const visible = tokens.filter((token) => !isHidden(identity, token));
    return { status: 200, body: visible.map(tokenView) };
  },

  async revokeToken({ deps, identity, origin, params }) {
    await revokeToken(deps, { identity, tokenId: params.id, origin });
    return done;
  },

  async listQuotas({ deps, identity }) {
    const usages = (await deps.store.listQuotas()).filter((usage) => !isHidden(identity, usage));
    const queues = await deps.store.listQueues();
    const scheduledOf = (tenant: string) =>
      queues.reduce((sum, { tenantId, scheduled }) => sum + (tenantId === tenant ? scheduled : 0), 0);
    const body = usages.map(({ tenantId, ...usage }) => ({
      tenant_id: tenantId,
      scheduled: scheduledOf(tenantId),
      ...usage,
    }));
    return { status: 200, body };
  },

  async getQuota({ deps, params, identity }) {
    checkTenant(identity, params.id);
    return { status: 200, body: await deps.store.getQuota({ tenantId: params.id }) };
  },

  async putQuota({ deps, params, body, identity, origin }) {
    if (identity.tenantId !== null)
      throw new WritError("PERMISSION_DENIED", "only an administrator of the hub can set quotas");
    await deps.store.putQuota({ tenantId: params.id, quota: body, nowMs: deps.clock.nowMs(), origin });
    deps.quotas.forget(params.id);
    return { status: 200, body };
  },

  async listQueues({ deps, identity }) {
    const queues = await deps.store.listQueues();
    const visible = queues.filter((queue) => !isHidden(identity, queue));
    const body = visible.map(({ tenantId, ...queue }) => ({ tenant_id: tenantId, ...queue }));
    return { status: 200, body };
  },

  async listSettings({ deps, identity }) {
    if (identity.tenantId !== null)
      throw new WritError(
        "PERMISSION_DENIED",
        "only an administrator of the hub can read its settings: they concern all tenants",
      );
    const body = deps.settings.shown.map(({ name, value, isSecret, from }) => ({
      name,
      value,
      is_secret: isSecret,
      from,
    }));
    return { status: 200, body };
  },

  async listHubs({ deps, identity }) {
    return { status: 200, body: await listHubs(deps, identity) };
  },

  async setQueuePaused({ deps, identity, params, body, origin }) {
    if (identity.tenantId !== null)
      throw new WritError(
        "PERMISSION_DENIED",
        "only an administrator of the hub can pause a type: it is paused for all tenants",
      );
    await deps.store.setQueuePaused({
      type: params.type,
      paused: body.paused,
      nowMs: deps.clock.nowMs(),
      origin,
    });
    return { status: 200, body };
  },
};

async function change(
  call: Call<"blockWorker" | "unblockWorker" | "drainWorker" | "undrainWorker">,
  set: { blocked?: boolean; draining?: boolean },
): Promise<Answer<"blockWorker">> {
  const { deps, identity, params, origin } = call;
  const worker = await setWorker(deps, { identity, workerId: params.id, set, origin });
  return { status: 200, body: await workerView(deps, worker, identity) };
}

function identityView({ role, tenantId, userId, workerId }: Identity, secret: string | null) {
  const session = secret === null ? {} : { session_id: sessionIdOf(secret) };
  return { role, tenant_id: tenantId, user_id: userId, worker_id: workerId, ...session };
}

function tokenView(token: TokenRecord) {
  return {
    id: token.id,
    role: token.role,
    tenant_id: token.tenantId,
    user_id: token.userId,
    worker_id: token.workerId,
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    revoked_at: token.revokedAt,
  };
}

function isTls(socket: object): boolean {
  return "encrypted" in socket && socket.encrypted === true;
}

function checkTenant(identity: Identity, tenantId: string): void {
  if (!isHidden(identity, { tenantId })) return;
  throw new WritError("NOT_FOUND", `there is no tenant ${tenantId}`);
}
