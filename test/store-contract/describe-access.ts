import { describe, expect, it } from "vitest";
import type { NewToken } from "../../src/store/access-store.ts";
import { origin } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const token: NewToken = {
  id: "t1",
  secretHash: "hash-1",
  role: "user",
  tenantId: "acme",
  userId: "u1",
  workerId: null,
  createdAt: 1,
  expiresAt: null,
};

export function describeAccess(create: () => StoreUnderTest): void {
  describe("tokens and sessions", () => {
    const scene = useScene(create);

    it("that do not exist are not found, revoked or removed", async () => {
      const { store, nowMs } = scene();
      expect(await store.findToken({ secretHash: "x" })).toBeNull();
      expect(await store.revokeToken({ tokenId: "x", nowMs, origin })).toBe(false);
      expect(await store.findSession({ secretHash: "x" })).toBeNull();
      expect(await store.removeSession({ secretHash: "x" })).toBe(false);
    });

    it("cannot be made twice, and a failed one leaves no event", async () => {
      await scene().store.createToken({ token, origin });
      await expect(scene().store.createToken({ token, origin })).rejects.toMatchObject({ code: "INTERNAL" });
      const input = { secretHash: "s", tokenId: "none", expiresAt: 9, nowMs: 2, origin };
      await expect(scene().store.createSession(input)).rejects.toMatchObject({ code: "INTERNAL" });
      expect(await scene().store.eventRange()).toEqual({ first: 1, last: 1 });
    });

    it("are found by the hash of their secret, and their making is on the log", async () => {
      await scene().store.createToken({ token, origin });
      const worker: NewToken = { ...token, id: "t2", secretHash: "hash-2", role: "worker", workerId: "w1" };
      await scene().store.createToken({ token: worker, origin });
      expect(await scene().store.findToken({ secretHash: "hash-1" })).toEqual({ ...token, revokedAt: null });
      expect((await scene().store.listTokens()).map(({ id }) => id)).toEqual(["t1", "t2"]);
      const events = await scene().store.readEvents({ afterSeq: 0, limit: 9 });
      expect(events.map(({ event }) => event)).toEqual(["TOKEN_ISSUED", "WORKER_TOKEN_ISSUED"]);
    });

    it("end together when the token is revoked, and it is told once", async () => {
      const { store } = scene();
      await store.createToken({ token, origin });
      await store.createSession({ secretHash: "s", tokenId: "t1", expiresAt: 9, nowMs: 2, origin });
      expect(await store.findSession({ secretHash: "s" })).toMatchObject({
        token: { id: "t1" },
        expiresAt: 9,
      });
      expect(await store.revokeToken({ tokenId: "t1", nowMs: 3, origin })).toBe(true);
      expect(await store.revokeToken({ tokenId: "t1", nowMs: 4, origin })).toBe(true);
      expect(await store.findSession({ secretHash: "s" })).toBeNull();
      expect(await store.findToken({ secretHash: "hash-1" })).toMatchObject({ revokedAt: 3 });
      const events = await store.readEvents({ afterSeq: 0, limit: 9 });
      expect(events.map(({ event }) => event)).toEqual(["TOKEN_ISSUED", "LOGIN_SUCCESS", "TOKEN_REVOKED"]);
    });

    it("are cleared away when a session is over and somebody logs in", async () => {
      const { store } = scene();
      await store.createToken({ token, origin });
      await store.createSession({ secretHash: "old", tokenId: "t1", expiresAt: 5, nowMs: 2, origin });
      await store.createSession({ secretHash: "new", tokenId: "t1", expiresAt: 99, nowMs: 5, origin });
      expect(await store.findSession({ secretHash: "old" })).toBeNull();
      expect(await store.removeSession({ secretHash: "new" })).toBe(true);
      expect(await store.findSession({ secretHash: "new" })).toBeNull();
    });

    it("O-08 a session ends when the next one in its browser begins, unless that one fails", async () => {
      const { store } = scene();
      await store.createToken({ token, origin });
      const session = { tokenId: "t1", expiresAt: 99, nowMs: 2, origin };
      await store.createSession({ ...session, secretHash: "first" });
      const failed = { ...session, secretHash: "none", tokenId: "none", endedHash: "first" };
      await expect(store.createSession(failed)).rejects.toMatchObject({ code: "INTERNAL" });
      expect(await store.findSession({ secretHash: "first" })).not.toBeNull();
      await store.createSession({ ...session, secretHash: "second", endedHash: "first" });
      expect(await store.findSession({ secretHash: "first" })).toBeNull();
      await store.createSession({ ...session, secretHash: "third", endedHash: "unknown" });
      expect(await store.findSession({ secretHash: "second" })).not.toBeNull();
    });
  });
}
