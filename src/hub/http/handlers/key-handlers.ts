import { listCerts, revokeCert, type VisibleCert } from "../../use-cases/access/manage-certs.ts";
import { revokeKey, rotateKeys } from "../../use-cases/access/manage-keys.ts";
import { done, type Handlers } from "../call.ts";

/** The signing keys, and the certificates of people. */
export const keyHandlers: Handlers<"listKeys" | "rotateKeys" | "revokeKey" | "listCerts" | "revokeCert"> = {
  async listCerts({ deps, identity }) {
    return { status: 200, body: (await listCerts(deps, identity)).map(certView) };
  },

  async revokeCert({ deps, identity, origin, params }) {
    await revokeCert(deps, { identity, origin, serial: params.serial });
    return done;
  },

  async listKeys({ deps }) {
    const { keys, clock } = deps;
    const body = {
      version: keys.version,
      keys: keys.list(),
      key_set: keys.keySet(clock.nowMs()),
      revocations: keys.revocations(),
    };
    return { status: 200, body };
  },

  async rotateKeys({ deps, identity, origin, body }) {
    const { emergency, notice_sec: noticeSec } = body ?? {};
    return { status: 200, body: await rotateKeys(deps, { identity, origin, emergency, noticeSec }) };
  },

  async revokeKey({ deps, identity, origin, params, body }) {
    const key = await revokeKey(deps, { identity, origin, keyId: params.id, now: body?.now });
    return { status: 200, body: key };
  },
};

function certView({ userId, tenantId, issuedAt, expiresAt, revokedAt, ...cert }: VisibleCert) {
  const { serial, kind, role, certificate } = cert;
  return {
    certificate,
    serial,
    kind,
    role,
    user_id: userId,
    tenant_id: tenantId,
    issued_at: issuedAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
  };
}
