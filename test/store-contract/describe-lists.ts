import { describe, expect, it } from "vitest";
import { failureOf, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeLists(create: () => StoreUnderTest): void {
  describe("listing", () => {
    const scene = useScene(create);

    it("A17: reads one job for everybody, or only for its own tenant", async () => {
      const jobId = await scene().submit({ tenantId: "acme" });
      const read = async (tenantId?: string | null) =>
        (await scene().store.getJob({ jobId, tenantId }))?.job.id;
      expect(await read()).toBe(jobId);
      expect(await read(null)).toBe(jobId);
      expect(await read("acme")).toBe(jobId);
      expect(await read("globex")).toBeUndefined();
    });

    it("shows the newest first, page by page", async () => {
      const ids: string[] = [];
      for (let made = 0; made < 5; made++) ids.unshift(await scene().submit());
      const first = await scene().store.listJobs({ limit: 2 });
      expect(first.jobs.map(({ job }) => job.id)).toEqual(ids.slice(0, 2));
      const before = first.nextBefore!;
      const rest = await scene().store.listJobs({ limit: 9, before });
      expect(rest.jobs.map(({ job }) => job.id)).toEqual(ids.slice(2));
      expect(rest.nextBefore).toBeNull();
      const skipped = await scene().store.listJobs({ limit: 9, offset: 3 });
      expect(skipped.jobs.map(({ job }) => job.id)).toEqual(ids.slice(3));
    });

    it("gives the jobs of some ids, newest first, to those whose they are", async () => {
      const ids = [
        await scene().submit(),
        await scene().submit(),
        await scene().submit({ tenantId: "other" }),
      ];
      await scene().submit();
      const list = async (filter: object) =>
        (await scene().store.listJobs({ limit: 9, ...filter })).jobs.map(({ job }) => job.id);
      expect(await list({ ids })).toEqual(ids.toReversed());
      expect(await list({ ids, tenantId: "other" })).toEqual([ids[2]]);
      expect(await list({ ids: [] })).toEqual([]);
    });

    it("says after which event a list was read", async () => {
      const { store } = scene();
      await scene().submit();
      const before = await store.listJobs({ limit: 9 });
      expect(before.lastEventSeq).toBe((await store.eventRange()).last);
      await scene().submit();
      const after = await store.listJobs({ limit: 9 });
      const events = await store.readEvents({ afterSeq: before.lastEventSeq, limit: 9 });
      expect(events.map(({ jobId }) => jobId)).toEqual([after.jobs[0]!.job.id]);
      expect(after.lastEventSeq).toBe(events.at(-1)!.seq);
    });

    it("counts the jobs of each tenant and user by state, until they are deleted", async () => {
      const { store } = scene();
      const count = async (filter: object) => (await store.countJobs(filter)).count;
      const { tenantId, userId } = scene().newJob();
      const failed = await scene().submitAndClaim();
      const done = await scene().submitAndClaim();
      await scene().submit({ tenantId: "other" });
      expect(await count({ tenantId, userId, statuses: ["assigned"] })).toBe(2);
      await scene().change(failed, failureOf("INVALID_JOB"));
      await scene().change(done, resultOf("{}"));
      await scene().submit({ userId: "u2" });
      expect(await count({ tenantId })).toBe(3);
      expect(await count({ tenantId, userId })).toBe(2);
      expect(await count({ tenantId, userId: "u2", statuses: ["pending", "failed"] })).toBe(1);
      expect(await count({ tenantId, statuses: ["failed", "failed"] })).toBe(1);
      expect(await count({ tenantId, statuses: ["running"] })).toBe(0);
      expect(await count({ tenantId: "nobody" })).toBe(0);
      expect(await count({ statuses: ["pending"] })).toBe(2);
      const whole = await store.listJobs({ limit: 2, tenantId, userId });
      expect(whole).toMatchObject({ jobs: { length: 2 }, nextBefore: null });
      const endedBefore = scene().nowMs + 1;
      await store.pruneJobs({ endedBefore, quarantinedBefore: endedBefore, limit: 9, nowMs: endedBefore });
      expect(await count({ tenantId, userId })).toBe(0);
      expect(await count({ tenantId })).toBe(1);
    });

    it("C4: gives the ids of the same jobs, and counts them", async () => {
      const unsafe = await scene().submitAndClaim();
      await scene().change(unsafe, failureOf("SECURITY_VIOLATION"));
      const failed = await scene().submitAndClaim();
      await scene().change(failed, failureOf("INVALID_JOB"));
      const waiting = await scene().submit();
      const { store } = scene();
      const first = await store.listJobIds({ limit: 2 });
      expect(first.ids).toEqual([waiting, failed.job.id]);
      const rest = await store.listJobIds({ limit: 2, before: first.nextBefore! });
      expect(rest).toEqual({ ids: [unsafe.job.id], nextBefore: null });
      expect((await store.listJobIds({ limit: 9, failCode: "!SECURITY_VIOLATION" })).ids).toEqual(first.ids);
      expect(await store.countJobs({})).toEqual({ count: 3, isMore: false });
      expect(await store.countJobs({ statuses: ["failed"], failCode: "!SECURITY_VIOLATION" })).toEqual({
        count: 1,
        isMore: false,
      });
    });

    it("filters by tenant, user, state, type and worker, each alone and together", async () => {
      const failed = await scene().submitAndClaim({ type: "test" });
      await scene().change(failed, failureOf("INVALID_JOB"));
      const waiting = await scene().submit({ userId: "u2" });
      const other = await scene().submit({ tenantId: "other" });
      const list = async (filter: object) =>
        (await scene().store.listJobs({ limit: 9, ...filter })).jobs.map(({ job }) => job.id);
      expect(await list({ tenantId: "acme" })).toEqual([waiting, failed.job.id]);
      expect(await list({ tenantId: "acme", userId: "u2" })).toEqual([waiting]);
      expect(await list({ statuses: ["failed"] })).toEqual([failed.job.id]);
      expect(await list({ statuses: ["pending"] })).toEqual([other, waiting]);
      expect(await list({ type: "test" })).toEqual([failed.job.id]);
      expect(await list({ workerId: "w1" })).toEqual([failed.job.id]);
      expect(await list({ workerId: "w1", statuses: ["pending"] })).toEqual([]);
    });

    it("filters by several states, beginnings of types, failures, times and words", async () => {
      const start = scene().nowMs;
      const failed = await scene().submitAndClaim({ type: "report.daily" });
      await scene().change(failed, failureOf("INVALID_JOB"));
      scene().nowMs += day;
      const document = JSON.stringify({ run: { kind: "exec", argv: ["Make-report", "50%", "caf\u00e9"] } });
      const waiting = await scene().submit({ type: "report.weekly", document: ascii(document) });
      scene().nowMs += day;
      const summary = JSON.stringify({ command: ["make-report", "long"], cut: ["params"] });
      const large = await scene().submit({ type: "other", document: "{}", summary });
      const list = async (filter: object) =>
        (await scene().store.listJobs({ limit: 9, ...filter })).jobs.map(({ job }) => job.id);
      expect(await list({ statuses: ["failed", "quarantined"] })).toEqual([failed.job.id]);
      expect(await list({ statuses: ["failed", "pending"] })).toEqual([large, waiting, failed.job.id]);
      expect(await list({ statuses: [] })).toEqual([]);
      expect(await list({ typePrefix: "report." })).toEqual([waiting, failed.job.id]);
      expect(await list({ typePrefix: "eport" })).toEqual([]);
      expect(await list({ failCode: "INVALID_JOB" })).toEqual([failed.job.id]);
      expect(await list({ failCode: "TIMEOUT" })).toEqual([]);
      expect(await list({ since: start + day })).toEqual([large, waiting]);
      expect(await list({ until: start + day })).toEqual([failed.job.id]);
      expect(await list({ since: start + day, until: start + day + 1 })).toEqual([waiting]);
      expect(await list({ search: "make-REPORT" })).toEqual([large, waiting]);
      expect(await list({ search: "50%" })).toEqual([waiting]);
      expect(await list({ search: "5_%" })).toEqual([]);
      expect(await list({ search: "caf\u00e9" })).toEqual([waiting]);
      expect(await list({ search: "daily" })).toEqual([failed.job.id]);
      expect(await list({ search: waiting.slice(-6) })).toEqual([waiting]);
      expect(await list({ search: "params" })).toEqual([]);
    });

    it("O-09: finds a command, and shows the last failure, although a NUL or half a character is beside it", async () => {
      const params = { nul: "\0", half: "\ud83d", escaped: "\\u0000" };
      const document = JSON.stringify({ params, run: { kind: "exec", argv: ["Make-report", "C:\\u0000"] } });
      const claimed = await scene().submitAndClaim({ document });
      const { id } = claimed.job;
      const list = async (search: string) =>
        (await scene().store.listJobs({ limit: 9, search })).jobs.map((listed) => listed.job.id);
      expect(await list("make-report")).toEqual([id]);
      expect(await list("C:\\u0000")).toEqual([id]);
      expect(await list("escaped")).toEqual([]);
      const reason = `\0\ud83d ${"x".repeat(100_000)}`;
      await scene().change(claimed, { ...failureOf("INVALID_JOB"), reason });
      const [listed] = (await scene().store.listJobs({ limit: 9 })).jobs;
      expect(listed).toMatchObject({ cut: ["failHistory"], job: { failHistory: [{ code: "INVALID_JOB" }] } });
    });

    it("B10: finds a job by the beginning or the end of its id, however old it is", async () => {
      const old = "01990000-0000-7000-8000-0000000beef1";
      const twin = "01980000-0000-4000-8000-00000abbeef1";
      await scene().submit({ id: old });
      for (let made = 0; made < 2; made++) {
        await scene().submitAll(Array.from({ length: 1000 }, () => scene().newJob()));
      }
      await scene().submit({ id: twin, userId: "u2" });
      const find = async (idPart: string, filter = {}) =>
        (await scene().store.listJobs({ limit: 9, idPart, ...filter })).jobs.map(({ job }) => job.id);
      expect(await find("0beef1")).toEqual([old]);
      expect(await find("bbeef1")).toEqual([twin]);
      expect(await find("01990000")).toEqual([old]);
      expect(await find("01990000-0000-7")).toEqual([old]);
      expect(await find(old)).toEqual([old]);
      expect(await find("000000001000")).toHaveLength(1);
      expect(await find("00000000")).toHaveLength(9);
      expect(await find("0199000")).toEqual([]);
      expect(await find("0beef2")).toEqual([]);
      const third = "01990000-0000-7000-8000-00000fbbeef1";
      await scene().submit({ id: third });
      expect(await find("bbeef1")).toEqual([third, twin]);
      expect(await find("bbeef1", { userId: "u2", tenantId: "acme" })).toEqual([twin]);
      expect(await find("bbeef1", { tenantId: "other" })).toEqual([]);
    });

    it("A6: leaves out what is large and says so", async () => {
      const large = "x".repeat(100_000);
      const document = JSON.stringify({ job_id: "j", params: large });
      const done = await scene().submitAndClaim({ document, summary: '{"params":null}' });
      await scene().change(done, resultOf(JSON.stringify(large)));
      const failed = await scene().submitAndClaim();
      await scene().change(failed, { ...failureOf("INVALID_JOB"), reason: large, partialResult: "1" });
      const [last, first] = (await scene().store.listJobs({ limit: 9 })).jobs;
      expect(JSON.stringify(first!).length).toBeLessThan(3_000);
      expect(first).toMatchObject({ cut: ["result"], summary: '{"params":null}', document: null });
      expect(first!.job).toMatchObject({ result: null, status: "completed", resultHash: expect.any(String) });
      expect(last).toMatchObject({ cut: ["failHistory"], summary: null, document: expect.any(String) });
      expect(last!.job.failHistory).toHaveLength(1);
      expect(last!.job.partialResult).toBe("1");
      const whole = await scene().store.getJob({ jobId: done.job.id });
      expect(whole!.job.result).toHaveLength(large.length + 2);
    });

    it("A6: is limited in bytes, and the next page continues", async () => {
      const document = JSON.stringify({ params: "x".repeat(900_000) });
      for (let made = 0; made < 5; made++) await scene().submit({ document });
      const seen: string[] = [];
      let pages = 0;
      let before: number | undefined;
      do {
        const page = await scene().store.listJobs({ limit: 9, before });
        expect(page.jobs.length).toBeLessThanOrEqual(3);
        seen.push(...page.jobs.map(({ job }) => job.id));
        before = page.nextBefore ?? undefined;
        pages++;
      } while (before !== undefined);
      expect(pages).toBe(2);
      expect(new Set(seen).size).toBe(5);
    });

    it("A6: looks at a limited number of jobs, but shows a small tenant its jobs at once", async () => {
      const wanted = await scene().submit({ type: "wanted" });
      const own = [await scene().submit({ tenantId: "tiny", userId: "u1" })];
      own.unshift(await scene().submit({ tenantId: "tiny", userId: "u2" }));
      for (let made = 0; made < 11; made++) {
        const userId = `u${made % 3}`;
        await scene().submitAll(Array.from({ length: 1000 }, () => scene().newJob({ userId })));
      }
      own.unshift(await scene().submit({ tenantId: "tiny", userId: "u1" }));
      const first = await scene().store.listJobs({ limit: 9, type: "wanted" });
      expect(first).toMatchObject({ jobs: [], nextBefore: expect.any(Number) });
      const rest = await scene().store.listJobs({ limit: 9, type: "wanted", before: first.nextBefore! });
      expect(rest.jobs.map(({ job }) => job.id)).toEqual([wanted]);
      expect(rest.nextBefore).toBeNull();
      const { tenantId } = scene().newJob();
      const ofUsers = await scene().store.listJobs({ limit: 9, tenantId, type: "wanted" });
      expect(ofUsers).toMatchObject({ jobs: [], nextBefore: expect.any(Number) });
      const ofTiny = await scene().store.listJobs({ limit: 9, tenantId: "tiny" });
      expect(ofTiny.jobs.map(({ job }) => job.id)).toEqual(own);
      expect(ofTiny.nextBefore).toBeNull();
    });
  });
}

const day = 86_400_000;

/** As documents are stored. */
function ascii(json: string): string {
  return json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
