import { describe, expect, it } from "vitest";
import type { NewToken } from "../../src/store/access-store.ts";
import type { AdvanceInput } from "../../src/store/response-store.ts";
import { origin } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeResponse(create: () => StoreUnderTest): void {
  describe("a lockdown", () => {
    const scene = useScene(create);
    const lock = (reason = "a drill") =>
      scene().store.lockDown({ reason, userId: "u1", nowMs: scene().nowMs, origin });

    it("refuses every claim with its reason, over a restart, until it is lifted", async () => {
      await scene().register();
      await scene().submit();
      expect(await scene().store.getLockdown()).toBeNull();
      expect(await lock()).toBe(true);
      expect(await lock("another reason")).toBe(false);
      expect(await scene().lastEvent()).toMatchObject({ event: "LOCKDOWN", details: { reason: "a drill" } });
      await scene().reopen();
      await expect(scene().claim()).rejects.toMatchObject({
        code: "LOCKDOWN",
        message: expect.stringContaining("a drill"),
      });
      const lockdown = { reason: "a drill", userId: "u1", since: scene().nowMs };
      expect(await scene().store.getLockdown()).toEqual(lockdown);
      expect(await scene().store.liftLockdown({ nowMs: scene().nowMs, origin })).toBe(true);
      expect(await scene().store.liftLockdown({ nowMs: scene().nowMs, origin })).toBe(false);
      expect(await scene().lastEvent()).toMatchObject({ event: "LOCKDOWN_LIFTED" });
      expect((await scene().claim()).job.status).toBe("assigned");
    });

    it("O-12: takes every worker offline, and no heartbeat, call or registration brings one back", async () => {
      await scene().register();
      await lock();
      const status = async () => (await scene().store.getWorker({ workerId: "w1" }))?.status;
      expect(await status()).toBe("inactive");
      const beat = { workerId: "w1", capabilities: null, leases: [], rules: scene().rules };
      await scene().store.heartbeatWorker(beat);
      expect(await status()).toBe("inactive");
      await scene().store.noteSignsOfLife({ signs: [{ workerId: "w1", atMs: scene().nowMs }] });
      expect(await status()).toBe("inactive");
      await scene().register();
      expect(await status()).toBe("inactive");
      await scene().store.liftLockdown({ nowMs: scene().nowMs, origin });
      await scene().store.heartbeatWorker(beat);
      expect(await status()).toBe("active");
    });

    it("A4: of one tenant stops that tenant's jobs and workers, over a restart, and no other tenant's", async () => {
      const tenant = { tenantId: "evil", nowMs: scene().nowMs, origin };
      const stop = () => scene().store.lockTenant({ ...tenant, reason: "a storm", userId: null });
      await scene().submit({ tenantId: "evil" });
      await scene().submit({ tenantId: "good" });
      expect(await stop()).toBe(true);
      expect(await stop()).toBe(false);
      expect(await scene().lastEvent()).toMatchObject({ event: "TENANT_LOCKED", tenantId: "evil" });
      await scene().reopen();
      expect(await scene().store.getLockdown()).toBeNull();
      expect(await scene().store.listLockedTenants()).toEqual([
        { tenantId: "evil", reason: "a storm", userId: null, since: scene().nowMs },
      ]);
      expect((await scene().claim()).job.tenantId).toBe("good");
      const own = { tenantId: "evil" };
      await expect(scene().claimIds(1, own)).rejects.toMatchObject({ code: "LOCKDOWN" });
      expect(await scene().store.liftTenant(tenant)).toBe(true);
      expect(await scene().store.liftTenant(tenant)).toBe(false);
      expect(await scene().claimIds(1, own)).toHaveLength(1);
    });

    it("tells when it is lifted that there is work", async () => {
      await scene().submit();
      await lock();
      scene().notices = [];
      await scene().store.liftLockdown({ nowMs: scene().nowMs, origin });
      expect(scene().notices).toMatchObject([{ ready: [{ count: 1 }] }]);
    });
  });

  describe("a reader of the log", () => {
    const scene = useScene(create);
    const message = (subject: string, channel = "telegram") => ({ channel, subject, body: "b", data: "{}" });
    const advance = (parts: Partial<AdvanceInput>) =>
      scene().store.advanceLogReader({
        name: "r",
        seq: 1,
        memory: "m",
        messages: [],
        waitingMax: 10,
        watch: [],
        nowMs: scene().nowMs,
        ...parts,
      });

    it("begins at the end and keeps its place and its memory", async () => {
      await scene().submit();
      expect(await scene().store.getLogReader({ name: "r" })).toEqual({ seq: 1, memory: "" });
      await advance({ seq: 7, memory: "seven" });
      await scene().reopen();
      expect(await scene().store.getLogReader({ name: "r" })).toEqual({ seq: 7, memory: "seven" });
    });

    it("leaves messages that wait in order, each channel for itself, and not too many", async () => {
      const messages = ["a", "b", "c"].map((subject) => message(subject));
      expect(await advance({ messages: [...messages, message("x", "smtp")], waitingMax: 2 })).toEqual({
        dropped: 1,
      });
      const next = async (channel = "telegram") => scene().store.nextMessage({ channel });
      const first = (await next())!;
      expect(first).toMatchObject({ subject: "a", tries: 0, dueAt: scene().nowMs });
      await scene().store.finishMessage({ id: first.id, retryAt: scene().nowMs + 5 });
      expect(await next()).toMatchObject({ subject: "a", tries: 1, dueAt: scene().nowMs + 5 });
      await scene().store.finishMessage({ id: first.id, retryAt: null });
      expect(await next()).toMatchObject({ subject: "b" });
      expect(await next("smtp")).toMatchObject({ subject: "x" });
      expect(await next("webhook")).toBeNull();
    });

    it("has somebody watched for as long as the longest wish", async () => {
      const { nowMs } = scene();
      await advance({ watch: [{ subject: "tenant:a", until: nowMs + 10 }] });
      await advance({ watch: [{ subject: "tenant:a", until: nowMs + 5 }] });
      expect(await scene().store.listWatched({ nowMs: nowMs + 9 })).toEqual([
        { subject: "tenant:a", until: nowMs + 10 },
      ]);
      expect(await scene().store.listWatched({ nowMs: nowMs + 10 })).toEqual([]);
    });
  });

  describe("a token that takes the place of another", () => {
    const scene = useScene(create);
    const token = (id: string, parts: Partial<NewToken> = {}): NewToken => ({
      id,
      secretHash: `hash of ${id}`,
      role: "user",
      tenantId: "acme",
      userId: "u1",
      workerId: null,
      createdAt: 1,
      expiresAt: null,
      ...parts,
    });
    const refresh = (tokenId: string, next: string, nowMs = 5) =>
      scene().store.refreshToken({ tokenId, token: token(next), nowMs, origin });

    it("wins once, however many ask, and ends the old one with its sessions", async () => {
      const { store } = scene();
      await store.createToken({ token: token("old"), origin });
      await store.createSession({ secretHash: "s", tokenId: "old", expiresAt: 99, nowMs: 1, origin });
      const answers = await Promise.all(["a", "b", "c"].map((next) => refresh("old", next)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      const live = (await store.listTokens()).filter(({ revokedAt }) => revokedAt === null);
      expect(live).toHaveLength(1);
      expect(await store.findSession({ secretHash: "s" })).toBeNull();
      expect(await scene().lastEvent()).toMatchObject({
        event: "TOKEN_REFRESH",
        tenantId: "acme",
        details: { token_id: live[0]!.id, replaces: "old" },
      });
    });

    it("does not when the old one is unknown, revoked or over", async () => {
      const { store } = scene();
      await store.createToken({ token: token("over", { expiresAt: 5 }), origin });
      await store.createToken({ token: token("revoked"), origin });
      await store.revokeToken({ tokenId: "revoked", nowMs: 2, origin });
      for (const id of ["nobody", "over", "revoked"]) expect(await refresh(id, `${id} 2`)).toBe(false);
      expect(await store.listTokens()).toHaveLength(2);
    });
  });
}
