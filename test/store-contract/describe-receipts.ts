import { describe, expect, it } from "vitest";
import type { JobRecord } from "../../src/core/jobs/job.ts";
import { resultOf, startMs } from "./scene.ts";
import type { ReceiptEdit, StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeReceipts(create: () => StoreUnderTest): void {
  describe("the receipt of a job that is forgotten", () => {
    const scene = useScene(create);
    const ended = async (
      receipt: string | null,
      parts: Parameters<ReturnType<typeof scene>["submit"]>[0] = {},
    ) => {
      const claimed = await scene().submitAndClaim(parts);
      await scene().change(claimed, { ...resultOf("1"), receipt });
      return claimed.job;
    };
    const forget = () => {
      const before = scene().nowMs + 1;
      return scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
    };
    const left = (jobId: string) => scene().store.getForgottenJob({ jobId });

    it("is not there for a job without one, one that is still there, or one that never was", async () => {
      const job = await ended("said and signed");
      expect(await left(job.id)).toBeNull();
      expect(await left(scene().newId())).toBeNull();
      const silent = await ended(null);
      await forget();
      expect(await left(silent.id)).toBeNull();
    });

    it("stays, with the document and whose job it was", async () => {
      const job = await ended("said and signed", { tenantId: "globex", userId: "eve" });
      const { document } = (await scene().store.getJob({ jobId: job.id }))!;
      await forget();
      await scene().reopen();
      expect(await scene().store.getJob({ jobId: job.id })).toBeNull();
      expect(await left(job.id)).toEqual({
        id: job.id,
        tenantId: "globex",
        userId: "eve",
        documentSha256: job.documentSha256,
        document,
        receipt: "said and signed",
        isSealed: true,
      });
    });

    const otherId = "00000000-0000-7000-8000-000000009999";
    const edits: [string, (job: JobRecord) => ReceiptEdit][] = [
      ["its document", () => ({ document: "{}" })],
      ["its owner", (job) => ({ routing: JSON.stringify([job.id, "other", job.userId]) })],
      ["what the seal covers", () => ({ routing: "nothing that can be read" })],
      ["its seal", () => ({ mac: new Uint8Array(32) })],
      ["its id", () => ({ jobId: otherId })],
    ];
    for (const [what, edit] of edits) {
      it(`does not match its seal when somebody edited ${what}`, async () => {
        const { id } = await ended("said and signed");
        const job = await scene().job(id);
        await forget();
        await scene().under.tamper.editReceipt(id, edit(job));
        const found = (await left(id)) ?? (await left(otherId));
        expect(found?.isSealed).toBe(false);
      });
    }

    it("is that of the last job when an id was used again", async () => {
      const { id } = await ended("the first");
      await forget();
      await ended("the second", { id });
      expect(await left(id)).toMatchObject({ receipt: "the first" });
      await forget();
      expect(await left(id)).toMatchObject({ receipt: "the second" });
    });

    it("goes when its own time has come", async () => {
      const first = await ended("first");
      scene().nowMs += 1_000;
      const second = await ended("second");
      await forget();
      const prune = (before: number, limit = 9) => scene().store.pruneReceipts({ before, limit });
      expect(await prune(startMs)).toEqual({ removed: 0 });
      expect(await prune(startMs + 9_999, 1)).toEqual({ removed: 1 });
      expect([await left(first.id), (await left(second.id))?.receipt]).toEqual([null, "second"]);
      expect(await prune(startMs + 9_999)).toEqual({ removed: 1 });
    });
  });
}
