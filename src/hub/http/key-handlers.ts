import { revokeKey, rotateKeys } from "../use-cases/access/manage-keys.ts";
import type { Handlers } from "./call.ts";

export const keyHandlers: Handlers<"listKeys" | "rotateKeys" | "revokeKey"> = {
  async listKeys({ deps }) {
    const { keys, clock } = deps;
    return Response.json({
      version: keys.version,
      keys: keys.list(),
      key_set: keys.keySet(clock.nowMs()),
      revocations: keys.revocations(),
    });
  },

  async rotateKeys({ deps, identity, origin, body }) {
    const { emergency, notice_sec: noticeSec } = body ?? {};
    return Response.json(await rotateKeys(deps, { identity, origin, emergency, noticeSec }));
  },

  async revokeKey({ deps, identity, origin, params, body }) {
    return Response.json(await revokeKey(deps, { identity, origin, keyId: params.id, now: body?.now }));
  },
};
