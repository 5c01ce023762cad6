import { describe, expect, it } from "vitest";
import { failureOf, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const terms = '{"labels":["\\u00e9t\\u00e9"],"more":1}';

/** The second text of a job, which only the hub reads. */
export function describeTerms(create: () => StoreUnderTest): void {
  describe("the terms of a job", () => {
    const scene = useScene(create);

    it.each([
      ["edited", '{"labels":["other"]}'],
      ["taken away", null],
    ])("keep it from every worker when somebody has %s them", async (_, edited) => {
      const forged = await scene().submit({ terms });
      await scene().under.tamper.editJob(forged, "terms", edited);
      const genuine = await scene().submit({ terms });
      const outcome = await scene().claimUpTo(2);
      expect(outcome.refused).toEqual([forged]);
      expect(outcome.claimed.map(({ job }) => job.id)).toEqual([genuine]);
      expect(await scene().job(forged)).toMatchObject({ status: "failed", failDetail: "INVALID_SIGNATURE" });
      expect((await scene().store.getJob({ jobId: forged }))!.damaged).toEqual(["document"]);
    });

    it("keep it from every worker when somebody has added them", async () => {
      const id = await scene().submit();
      await scene().under.tamper.editJob(id, "terms", terms);
      // A line in a frame has no room for them: what follows it is damaged too, so that no single job is to blame.
      expect((await scene().claimUpTo(1)).claimed).toEqual([]);
    });

    it("stay as they were submitted, whatever happens to it", async () => {
      const id = await scene().submit({ terms, maxAttempts: 9 });
      const without = await scene().submit({ priority: 1 });
      const read = async () => {
        const stored = (await scene().store.getJob({ jobId: id }))!;
        expect(stored.damaged).toEqual([]);
        return stored.job;
      };
      const isKept = async () => {
        expect((await read()).terms).toBe(terms);
        await scene().reopen();
        expect((await read()).terms).toBe(terms);
        const { jobs } = await scene().store.listJobs({ limit: 9 });
        expect(jobs.map(({ job }) => [job.id, job.terms])).toEqual([
          [without, null],
          [id, terms],
        ]);
      };
      await isKept();
      const first = await scene().claim();
      expect(first.job.id).toBe(id);
      await scene().change(first, failureOf("TIMEOUT"));
      await isKept();
      scene().nowMs += 3_600_000;
      const second = await scene().claim();
      expect(second.job).toMatchObject({ id, timeoutSec: 600 });
      await scene().change(second, { ...resultOf("1"), receipt: "said and signed" });
      await isKept();
      const before = scene().nowMs + 1;
      await scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
      expect(await scene().store.getForgottenJob({ jobId: id })).toMatchObject({ isSealed: true });
    });
  });
}
