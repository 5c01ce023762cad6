import { revokeKey, rotateKeys } from "../use-cases/access/manage-keys.ts";
import type { Handlers } from "./call.ts";

export const keyHandlers: Handlers<"listKeys" | "rotateKeys" | "revokeKey"> = {
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
