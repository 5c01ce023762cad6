import { describe, expect, it } from "vitest";
import { failureOf } from "./scene.ts";
import type { StoreUnderTest, Tamper } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

type Edit = (tamper: Tamper, jobId: string) => Promise<void>;

const edits: [string, Edit][] = [
  ["its document", (tamper, id) => tamper.editDocument(id, "{}")],
  ["its seal", (tamper, id) => tamper.removeDocument(id)],
  ["its tenant", (tamper, id) => tamper.editJob(id, "tenantId", "other")],
  ["its user", (tamper, id) => tamper.editJob(id, "userId", "other")],
  ["its type", (tamper, id) => tamper.editJob(id, "type", "other")],
  ["its priority", (tamper, id) => tamper.editJob(id, "priority", 9)],
  ["the timeout of its document", (tamper, id) => tamper.editJob(id, "documentTimeoutSec", 9)],
  ["the timeout of its next lease", (tamper, id) => tamper.editJob(id, "timeoutSec", 9)],
  ["that timeout to what a retry would make of it", (tamper, id) => tamper.editJob(id, "timeoutSec", 600)],
  ["its attempts", (tamper, id) => tamper.editJob(id, "maxAttempts", 9)],
  ["who chose its attempts", (tamper, id) => tamper.editJob(id, "attemptsChosen", true)],
  ["which limits it asked for", (tamper, id) => tamper.editJob(id, "limitsDefaulted", "cpu,memory")],
  ["its hash", (tamper, id) => tamper.editJob(id, "documentSha256", "00")],
  ["its idempotency key", (tamper, id) => tamper.editJob(id, "idempotencyKey", "other")],
];

export function describeSeals(create: () => StoreUnderTest): void {
  describe("the seal", () => {
    const scene = useScene(create);

    for (const [what, edit] of edits) {
      it(`keeps a job from every worker when somebody edited ${what}`, async () => {
        const forged = await scene().submit();
        await edit(scene().under.tamper, forged);
        const genuine = await scene().submit();
        const outcome = await scene().claimUpTo(2);
        expect(outcome.refused).toEqual([forged]);
        expect(outcome.claimed.map(({ job }) => job.id)).toEqual([genuine]);
        expect(await scene().job(forged)).toMatchObject({
          status: "failed",
          failCode: "SECURITY_VIOLATION",
          failDetail: "INVALID_SIGNATURE",
          attempt: 0,
        });
        const names = await scene().eventNames(forged);
        expect(names).toEqual(["JOB_CREATED", "JOB_FAILED", "INVALID_SIGNATURE"]);
      });
    }

    it("B12: covers the timeout that a retry or a person has changed", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 9 });
      const { id } = claimed.job;
      await scene().change(claimed, failureOf("TIMEOUT"));
      expect(await scene().job(id)).toMatchObject({ status: "pending", timeoutSec: 600 });
      scene().nowMs += 3_600_000;
      expect(await scene().claim()).toMatchObject({ job: { id, timeoutSec: 600 } });
      await scene().cancel(id);
      scene().nowMs += 3_600_000;
      await scene().reap();
      await scene().changeJob(id, { act: "retry" });
      expect(await scene().job(id)).toMatchObject({ status: "pending", timeoutSec: 300 });
      expect(await scene().claim()).toMatchObject({ job: { id, timeoutSec: 300 } });
    });

    it("B12: holds for a job that is asked for beside the retry that changes its timeout", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 9 });
      const read = () => scene().store.getJob({ jobId: claimed.job.id });
      const [, beside] = await Promise.all([scene().change(claimed, failureOf("TIMEOUT")), read()]);
      for (const shown of [beside, await read()]) expect(shown).toMatchObject({ damaged: [] });
    });

    it("B12: holds for a job that is claimed beside a grace for leases", async () => {
      const { nowMs, rules } = scene();
      const grace = () => scene().store.graceLeases({ nowMs, leaseMs: rules.leaseMs });
      const [id, beside] = await Promise.all([
        scene().submit({ maxAttempts: 7 }),
        scene().claimUpTo(1),
        grace(),
      ]);
      // With several connections the claim may come before the job.
      const { claimed } = beside.claimed.length === 0 ? await scene().claimUpTo(1) : beside;
      expect(claimed).toMatchObject([{ job: { id } }]);
      expect(await scene().store.getJob({ jobId: id })).toMatchObject({
        job: { maxAttempts: 7, timeoutSec: 300 },
        damaged: [],
      });
    });

    it("B12: that is broken stays broken when a retry changes the timeout", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 9 });
      await scene().under.tamper.editDocument(claimed.job.id, "{}");
      await scene().change(claimed, failureOf("TIMEOUT"));
      scene().nowMs += 3_600_000;
      expect(await scene().claimUpTo(1)).toMatchObject({ claimed: [], refused: [claimed.job.id] });
    });

    it("keeps a job from the workers of another queue that it was moved to", async () => {
      const forged = await scene().submit({ facts: { tags: ["secret"] } });
      const open = await scene().submit();
      await scene().under.tamper.moveJob(forged, open);
      expect((await scene().claimUpTo(2)).refused).toEqual([forged]);
    });

    it("does not let two jobs exchange their documents", async () => {
      const a = await scene().submit();
      const b = await scene().submit();
      await scene().under.tamper.swapDocuments(a, b);
      expect((await scene().claimUpTo(2)).refused.sort()).toEqual([a, b].sort());
    });
  });
}
