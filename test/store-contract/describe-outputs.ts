import { describe, expect, it } from "vitest";
import type { SmallOutput } from "../../src/core/jobs/small-output.ts";
import type { ClaimedJob } from "../../src/store/store.ts";
import { failureOf, fenceOf, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeOutputs(create: () => StoreUnderTest): void {
  describe("the output of jobs", () => {
    const scene = useScene(create);
    const note = async (jobId: string, attempt: number, sizes: { stdout?: number; stderr?: number }) =>
      (await scene().store.noteOutputs({ outputs: [{ jobId, attempt, ...sizes }] })).keptBytes;
    const drop = (downToBytes: number, limit = 100) =>
      scene().store.dropOutputs({ downToBytes, limit, nowMs: scene().nowMs });
    const keptBytes = async () => (await scene().store.noteOutputs({ outputs: [] })).keptBytes;
    /** Each ends a second after the one before. */
    const ended = async (stdout: number): Promise<string> => {
      const claimed = await scene().submitAndStart();
      await note(claimed.job.id, 1, { stdout });
      scene().nowMs += 1_000;
      await scene().change(claimed, resultOf("1"));
      return claimed.job.id;
    };

    const small = { stdout: Buffer.from("hello"), stderr: Buffer.from([0, 255, 10]) };
    const endWith = async (
      claimed: ClaimedJob,
      smallOutput: SmallOutput,
      change: ReturnType<typeof resultOf> | ReturnType<typeof failureOf> = resultOf("1"),
    ) => {
      const fence = fenceOf(claimed);
      const [answer] = await scene().store.changeJobs({
        changes: [{ jobId: claimed.job.id, change: { ...change, fence }, smallOutput }],
        rules: scene().rules,
        origin: null,
      });
      return answer!;
    };
    const smallOf = (jobId: string, attempt = 1) => scene().store.getSmallOutput({ jobId, attempt });

    it("that comes with a refused end is not kept", async () => {
      const claimed = await scene().submitAndStart();
      await scene().change(claimed, resultOf("1"));
      expect(await endWith(claimed, small, resultOf("2"))).toMatchObject({ kind: "refused" });
      expect(await smallOf(claimed.job.id)).toBeNull();
      expect(await keptBytes()).toBe(0);
    });

    it("that comes with an end and is more than its tenant allows for a stream refuses the end", async () => {
      const claimed = await scene().submitAndStart();
      const { tenantId } = claimed.job;
      const put = (max_output_bytes: number) =>
        scene().store.putQuota({ tenantId, quota: { max_output_bytes }, nowMs: scene().nowMs, origin: null });
      await put(4);
      expect(await endWith(claimed, small)).toMatchObject({ kind: "refused", code: "TOO_LARGE" });
      expect(await scene().store.getJob({ jobId: claimed.job.id })).toMatchObject({
        job: { status: "running" },
      });
      await put(5);
      expect(await endWith(claimed, small)).toMatchObject({ kind: "moved" });
    });

    it("that comes with an end is kept with it, each attempt its own, and counted", async () => {
      const claimed = await scene().submitAndStart();
      const { id } = claimed.job;
      expect(await endWith(claimed, small, failureOf("EXECUTION_ERROR"))).toMatchObject({ kind: "moved" });
      await scene().reopen();
      const kept = await smallOf(id);
      expect(Buffer.from(kept!.stdout)).toEqual(small.stdout);
      expect(Buffer.from(kept!.stderr)).toEqual(small.stderr);
      expect(await smallOf(id, 2)).toBeNull();
      expect(await smallOf(scene().newId())).toBeNull();
      expect(await keptBytes()).toBe(8);
      expect((await scene().store.getJob({ jobId: id }))!.output.sizes).toEqual({
        1: { stdout: 5, stderr: 3 },
      });
    });

    it("that came with an end goes when room is made, and with its job", async () => {
      const [first, second] = [await scene().submitAndStart(), await scene().submitAndStart()];
      for (const claimed of [first, second]) {
        scene().nowMs += 1_000;
        await endWith(claimed, small);
      }
      expect((await drop(8)).dropped).toEqual([{ jobId: first.job.id, attempts: [1], bytes: 8 }]);
      expect(await smallOf(first.job.id)).toBeNull();
      expect(await smallOf(second.job.id)).not.toBeNull();
      scene().nowMs += 1_000;
      const nowMs = scene().nowMs;
      await scene().store.pruneJobs({ endedBefore: nowMs, quarantinedBefore: nowMs, limit: 10, nowMs });
      expect(await smallOf(second.job.id)).toBeNull();
      expect(await keptBytes()).toBe(0);
    });

    it("is not noted of a job that is not there", async () => {
      expect(await note(scene().newId(), 1, { stdout: 5 })).toBe(0);
    });

    it("is never dropped as long as its job has not ended, however much it is", async () => {
      const running = await scene().submitAndStart();
      await note(running.job.id, 1, { stdout: 1_000 });
      const retried = await scene().submitAndStart();
      await note(retried.job.id, 1, { stdout: 1_000 });
      await scene().change(retried, failureOf("EXECUTION_ERROR"));
      expect(await drop(0)).toEqual({ dropped: [], keptBytes: 2_000 });
      const put = await scene().submitAndStart({ maxAttempts: 1 });
      await note(put.job.id, 1, { stdout: 1_000 });
      await scene().change(put, failureOf("EXECUTION_ERROR"));
      await scene().changeJob(put.job.id, { act: "retry" });
      expect(await drop(0)).toEqual({ dropped: [], keptBytes: 3_000 });
    });

    it("is summed up by sizes, so that to say it twice changes nothing", async () => {
      const { job } = await scene().submitAndStart();
      expect(await note(job.id, 1, { stdout: 5, stderr: 2 })).toBe(7);
      expect(await note(job.id, 1, { stdout: 5 })).toBe(7);
      expect(await note(job.id, 1, { stdout: 9 })).toBe(11);
      expect(await note(job.id, 2, { stderr: 1 })).toBe(12);
      await scene().reopen();
      expect(await keptBytes()).toBe(12);
      const notes = { jobIds: [job.id, scene().newId()] };
      expect(await scene().store.getOutputNotes(notes)).toEqual([
        { jobId: job.id, isNoted: true, droppedThrough: 0 },
      ]);
    });

    it("of another tenant's job does not exist", async () => {
      const { job } = await scene().submitAndStart();
      const notes = (tenantId: string) => scene().store.getOutputNotes({ jobIds: [job.id], tenantId });
      expect(await notes("another")).toEqual([]);
      expect(await notes(job.tenantId)).toMatchObject([{ jobId: job.id }]);
    });

    it("goes oldest end first, only until there is room, and the jobs stay", async () => {
      const late = await scene().submitAndStart();
      await note(late.job.id, 1, { stdout: 100, stderr: 10 });
      const [first, second, third] = [await ended(200), await ended(300), await ended(400)];
      scene().nowMs += 1_000;
      await scene().change(late, resultOf("1"));
      expect(await drop(510, 1)).toEqual({
        dropped: [{ jobId: first, attempts: [1], bytes: 200 }],
        keptBytes: 810,
      });
      expect(await drop(510)).toEqual({
        dropped: [{ jobId: second, attempts: [1], bytes: 300 }],
        keptBytes: 510,
      });
      expect((await drop(510)).dropped).toEqual([]);
      expect((await drop(0)).dropped.map(({ jobId }) => jobId)).toEqual([third, late.job.id]);
      const stored = await scene().store.getJob({ jobId: late.job.id });
      expect(stored).toMatchObject({
        job: { status: "completed", result: "1" },
        output: { throughAttempt: 1, sizes: { 1: { stdout: 100, stderr: 10 } } },
      });
    });

    it("leaves an event for each job, numbered with the job's own", async () => {
      const jobId = await ended(200);
      await drop(0);
      const events = await scene().events(jobId);
      expect(events.at(-1)).toMatchObject({
        event: "OUTPUT_REMOVED",
        tenantId: "acme",
        ownerId: "u1",
        details: { bytes: 200, attempts: [1], status: "completed" },
      });
      expect(events.map(({ jobSeq }) => jobSeq)).toEqual(events.map((_, index) => index + 1));
    });

    it("of a new attempt counts again, and of the dropped ones no word is believed", async () => {
      const claimed = await scene().submitAndStart({ maxAttempts: 1 });
      const { id } = claimed.job;
      await note(id, 1, { stdout: 5 });
      await scene().change(claimed, failureOf("EXECUTION_ERROR"));
      await drop(0);
      expect(await note(id, 1, { stdout: 50 })).toBe(0);
      await scene().changeJob(id, { act: "retry" });
      const again = await scene().claim();
      expect(await note(id, 2, { stdout: 7 })).toBe(7);
      expect((await drop(0)).dropped).toEqual([]);
      await scene().change(again, resultOf("1"));
      expect((await drop(0)).dropped).toEqual([{ jobId: id, attempts: [2], bytes: 7 }]);
      expect((await scene().store.getJob({ jobId: id }))?.output).toEqual({
        throughAttempt: 2,
        sizes: { 1: { stdout: 5, stderr: 0 }, 2: { stdout: 7, stderr: 0 } },
      });
    });

    it("is not counted any more when its job is forgotten", async () => {
      await ended(200);
      const before = scene().nowMs + 1;
      await scene().store.pruneJobs({
        endedBefore: before,
        quarantinedBefore: before,
        limit: 9,
        nowMs: before,
      });
      expect(await keptBytes()).toBe(0);
    });
  });
}
