import { describe, expect, it } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import { resultOf, sha256 } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeRecalls(create: () => StoreUnderTest): void {
  describe("leases that are taken back", () => {
    const scene = useScene(create);

    async function claimWith(leaseKeyId: string | null, workerId = "w1") {
      await scene().submit();
      const { claimed } = await scene().store.claimJobs({
        workerId,
        worker: plainWorker,
        max: 1,
        bytesMax: 1024,
        leaseSecret: `secret-${workerId}-${leaseKeyId}`,
        leaseKeyId,
        rules: scene().rules,
      });
      return claimed[0]!;
    }

    const recall = (leaseKeyId: string | null, limit = 10) =>
      scene().store.recallJobs({ leaseKeyId, reason: "revoked", rules: scene().rules, limit, origin: null });

    it("are those of the key, and those whose key is unknown", async () => {
      const [mine, other, unknown] = [await claimWith("a"), await claimWith("b"), await claimWith(null)];
      expect(mine.job.leaseKeyId).toBe("a");
      expect(await recall("a")).toEqual({ recalled: 2, ended: 0, more: false });
      expect(await scene().job(mine.job.id)).toMatchObject({
        status: "pending",
        attempt: 1,
        attempts: 0,
        leaseKeyId: null,
      });
      expect(await scene().job(other.job.id)).toMatchObject({ status: "assigned", leaseKeyId: "b" });
      expect(await scene().job(unknown.job.id)).toMatchObject({ status: "pending" });
    });

    it("are all of them when no key is named, turn by turn", async () => {
      await claimWith("a");
      await claimWith("b");
      expect(await recall(null, 1)).toEqual({ recalled: 1, ended: 0, more: true });
      expect(await recall(null, 5)).toEqual({ recalled: 1, ended: 0, more: false });
      expect(await recall(null)).toEqual({ recalled: 0, ended: 0, more: false });
    });

    it("are counted apart if their job is over with them, because its only attempt had begun", async () => {
      await claimWith("a");
      const spent = await scene().submitAndStart({ maxAttempts: 1 });
      expect(await recall(null)).toEqual({ recalled: 2, ended: 1, more: false });
      expect(await scene().job(spent.job.id)).toMatchObject({ status: "failed" });
    });

    it("and all others that wait can be told apart from what may have been tried elsewhere", async () => {
      const held = await claimWith("a");
      const id = await scene().submit();
      expect(await scene().store.raiseAttempts({ by: 1_000 })).toEqual({ raised: 1 });
      expect(await scene().job(id)).toMatchObject({ status: "pending", attempt: 1_000, attempts: 0 });
      expect(await scene().job(held.job.id)).toMatchObject({ status: "assigned", attempt: 1 });
      expect((await claimWith("a")).job).toMatchObject({ id, attempt: 1_001 });
    });

    it("count for no worker any more, and their worker is told", async () => {
      const claimed = await claimWith("a", "w7");
      await recall("a");
      expect(await scene().change(claimed, resultOf("{}"))).toMatchObject({
        kind: "refused",
        code: "LEASE_LOST",
      });
      const signals = scene().notices.flatMap((notice) => notice.signals);
      expect(signals).toContainEqual({ workerId: "w7", jobId: claimed.job.id, signal: "lost" });
      expect(await scene().eventNames(claimed.job.id)).toContain("JOB_RELEASED");
    });
  });

  describe("the signature behind receipts", () => {
    const scene = useScene(create);
    const signed = (text: string) => ({
      id: sha256(text),
      text,
      signature: "base64:x",
      workerId: "w1",
      publicKey: "PEM",
      createdAt: scene().nowMs,
    });

    it("is kept with an ending that counts, and not with one that is refused", async () => {
      const claimed = await scene().submitAndStart();
      const fence = { workerId: "w1", attempt: 1, tokenHash: sha256(claimed.leaseToken) };
      const finish = (tokenHash: string, text: string) =>
        scene().store.changeJobs({
          changes: [{ jobId: claimed.job.id, change: { ...resultOf("{}"), fence: { ...fence, tokenHash } } }],
          rules: scene().rules,
          origin: null,
          receiptSignature: signed(text),
        });
      await finish("00", "refused");
      expect(await scene().store.getReceiptSignature({ id: sha256("refused") })).toBeNull();
      await finish(fence.tokenHash, "kept");
      expect(await scene().store.getReceiptSignature({ id: sha256("kept") })).toEqual(signed("kept"));
      const { nowMs } = scene();
      expect(await scene().store.pruneReceiptSignatures({ before: nowMs, limit: 10 })).toEqual({
        removed: 0,
      });
      expect(await scene().store.pruneReceiptSignatures({ before: nowMs + 1, limit: 10 })).toEqual({
        removed: 1,
      });
    });

    it("is asked for with a seal that still holds, or not at all", async () => {
      const id = await scene().submit();
      expect((await scene().store.getJob({ jobId: id }))!.damaged).toEqual([]);
      await scene().under.tamper.editJob(id, "priority", 9);
      expect((await scene().store.getJob({ jobId: id }))!.damaged).toEqual(["document"]);
    });
  });
}
