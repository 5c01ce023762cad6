import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/signing/mac.ts";
import { failureOf, resultOf } from "./scene.ts";
import type { StoreUnderTest, Tamper } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

type Edit = (tamper: Tamper, jobId: string) => Promise<void>;

const edits: [string, string, Edit][] = [
  ["document", "document", (tamper, id) => tamper.editDocument(id, '{"job_id":"x"}')],
  ["document that is not there", "document", (tamper, id) => tamper.removeDocument(id)],
  ["column that routes it", "document", (tamper, id) => tamper.editJob(id, "priority", 9)],
  ["result", "result", (tamper, id) => tamper.editText(id, "result", '{"sum":43}')],
  ["history", "fail_history", (tamper, id) => tamper.editText(id, "failHistory", '[{"rea')],
];

export function describeDamage(create: () => StoreUnderTest): void {
  describe("damage", () => {
    const scene = useScene(create);
    const damageOf = async (jobId: string) => (await scene().store.getJob({ jobId }))!.damaged;

    async function completed(): Promise<string> {
      const claimed = await scene().submitAndStart();
      await scene().change(claimed, resultOf('{"sum":42}'));
      return claimed.job.id;
    }

    for (const [what, part, edit] of edits) {
      it(`A8: is found in a ${what} when the job is read`, async () => {
        const id = await completed();
        const other = await completed();
        expect(await damageOf(id)).toEqual([]);
        await edit(scene().under.tamper, id);
        expect(await damageOf(id)).toEqual([part]);
        expect(await damageOf(other)).toEqual([]);
      });
    }

    describe("in a row that contradicts the timeline of its job", () => {
      const compared = async (jobId: string) =>
        (await scene().store.getJob({ jobId, isCompared: true }))!.damaged;

      it("is found only by a read that compares them", async () => {
        const claimed = await scene().submitAndStart({ maxAttempts: 1 });
        await scene().change(claimed, failureOf("EXECUTION_ERROR"));
        const { id } = claimed.job;
        expect(await compared(id)).toEqual([]);
        await scene().under.tamper.editEnd(id, { status: "completed", failCode: null });
        expect(await damageOf(id)).toEqual([]);
        expect(await compared(id)).toEqual(["state"]);
      });

      it("is found when a failed job was given a result", async () => {
        const claimed = await scene().submitAndStart({ maxAttempts: 1 });
        await scene().change(claimed, failureOf("EXECUTION_ERROR"));
        const { id } = claimed.job;
        await scene().under.tamper.editEnd(id, { status: "completed", resultHash: sha256Hex("1") });
        await scene().under.tamper.editText(id, "result", "1");
        expect(await compared(id)).toEqual(["state", "result"]);
      });

      it("is found in the exit code of a job that completed", async () => {
        const claimed = await scene().submitAndStart();
        await scene().change(claimed, { ...resultOf("1"), exitCode: 3 });
        await scene().under.tamper.editEnd(claimed.job.id, { exitCode: 0 });
        expect(await compared(claimed.job.id)).toEqual(["state"]);
      });

      it("is not seen in a job at any moment of its life", async () => {
        const seen = async (id: string) => expect(await compared(id)).toEqual([]);
        const waiting = await scene().submit({ maxAttempts: 3 });
        await seen(waiting);
        const first = (await scene().claimUpTo(1)).claimed[0]!;
        await seen(waiting);
        await scene().change(first, { act: "start", isolation: null });
        await seen(waiting);
        await scene().change(first, failureOf("TIMEOUT"));
        await seen(waiting);
        await scene().store.raiseAttempts({ by: 5 });
        await seen(waiting);
        scene().nowMs += 3_600_000;
        const second = (await scene().claimUpTo(1)).claimed[0]!;
        await seen(waiting);
        await scene().cancel(waiting);
        await seen(waiting);
        await scene().change(second, resultOf("1"));
        await seen(waiting);
        await scene().changeJob(waiting, { act: "retry" });
        await seen(waiting);
        await scene().reopen();
        await seen(waiting);
      });
    });

    it("A8: in one job leaves the list of the others whole", async () => {
      const ids = [await completed(), await completed(), await completed()];
      await scene().under.tamper.editText(ids[1]!, "failHistory", "{");
      await scene().under.tamper.editText(ids[1]!, "retryCounts", "{");
      const { jobs: listed } = await scene().store.listJobs({ limit: 10 });
      expect(listed.map(({ job }) => job.id)).toEqual(ids.toReversed());
      expect(listed.map(({ damaged }) => damaged)).toEqual([[], ["fail_history"], []]);
    });

    it("A8: in one job keeps neither the reaper nor claims from others", async () => {
      const bad = await scene().submitAndStart();
      const good = await scene().submitAndStart();
      await scene().under.tamper.editText(bad.job.id, "failHistory", "{");
      await scene().reopen();
      scene().nowMs += 24 * 3_600_000;
      expect(await scene().reap()).toBe(2);
      expect((await scene().job(good.job.id)).status).toBe("pending");
      scene().nowMs += 3_600_000;
      expect((await scene().claimIds(5)).toSorted()).toEqual([bad.job.id, good.job.id].toSorted());
    });
  });
}
