import { describe, expect, it } from "vitest";
import {
  type ArrivedObject,
  type NewUpload,
  type StoredObject,
  type UploadOutcome,
  unfinishedMax,
} from "../../src/store/object-store.ts";
import { failureOf, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const key = { tenantId: "acme", folderId: "f", objectKey: "a/b" };
const sha256 = "a".repeat(64);
const hourMs = 3_600_000;

export function describeObjects(create: () => StoreUnderTest): void {
  describe("files", () => {
    const scene = useScene(create);
    const upload = (wish: Partial<NewUpload> = {}): NewUpload => ({
      id: scene().newId(),
      ...key,
      userId: "u1",
      jobId: null,
      attempt: null,
      size: 10,
      sha256,
      ...wish,
    });
    const open = (...uploads: NewUpload[]): Promise<UploadOutcome> => {
      const { nowMs } = scene();
      return scene().store.openUploads({ uploads, nowMs, expiresAt: nowMs + hourMs });
    };
    const arrive = (id: string, wish: Partial<ArrivedObject> = {}): Promise<StoredObject | null> => {
      const { nowMs } = scene();
      const arrived = { id, size: 10, sha256, storedAs: "one", nowMs, keptUntil: nowMs + 10 * hourMs };
      return scene().store.arriveObject({ ...arrived, ...wish });
    };
    const get = (id: string) => scene().store.getObject({ id, nowMs: scene().nowMs });
    const stored = async (wish: Partial<NewUpload> = {}): Promise<string> => {
      const one = upload(wish);
      await open(one);
      await arrive(one.id);
      return one.id;
    };
    const find = (userId: string | null = "u1") =>
      scene().store.findObject({ ...key, userId, nowMs: scene().nowMs });
    const expired = async (): Promise<string[]> => {
      const { nowMs } = scene();
      const due = await scene().store.listExpired({ nowMs, holdUntil: nowMs + hourMs, limit: 10 });
      return due.map(({ id }) => id);
    };
    const reserve = (id: string, size: number) => {
      const { nowMs } = scene();
      return scene().store.reserveUpload({ id, size, nowMs, expiresAt: nowMs + hourMs });
    };
    const used = async () => (await scene().store.listObjectUsage()).map(({ bytes }) => bytes);
    const limit = (bytes: number) => {
      const { nowMs } = scene();
      const quota = { max_artifact_bytes: bytes };
      return scene().store.putQuota({ tenantId: "acme", quota, nowMs, origin: null });
    };

    it("of a tenant stay within its quota, all of a call or none", async () => {
      await limit(25);
      const refused = { kind: "over_quota", usedBytes: 10, maxBytes: 25 };
      await open(upload());
      expect(await open(upload({ objectKey: "x" }), upload({ objectKey: "y" }))).toMatchObject({
        kind: "over_quota",
      });
      expect(await used()).toEqual([10]);
      expect(await open(upload({ objectKey: "x", size: 16 }))).toEqual(refused);
      expect(await open(upload({ objectKey: "x", tenantId: "globex", size: 100 }))).toMatchObject({
        kind: "opened",
      });
      const late = upload({ objectKey: "late", size: null });
      await open(late);
      expect(await reserve(late.id, 16)).toEqual(refused);
      expect(await reserve(late.id, 15)).toEqual({ kind: "opened", ids: [late.id] });
      expect(await reserve(late.id, 1)).toMatchObject({ kind: "opened" });
      expect((await used()).sort(), "the larger of two that may be arriving").toEqual([100, 25]);
      await arrive(late.id, { size: 1 });
      await scene().reopen();
      expect((await used()).sort()).toEqual([100, 11]);
    });

    it("that are announced with absurd sizes stay within what can be counted, also without a quota", async () => {
      const most = Number.MAX_SAFE_INTEGER;
      expect(await open(upload({ objectKey: "x", size: most }))).toMatchObject({ kind: "opened" });
      const refused = { kind: "over_quota", usedBytes: most, maxBytes: most };
      expect(await open(upload({ objectKey: "y", size: most }))).toEqual(refused);
      expect(await open(upload({ objectKey: "z", size: 1 }))).toEqual(refused);
      expect(await open(upload({ objectKey: "z", size: null }))).toMatchObject({ kind: "opened" });
      expect(await used()).toEqual([most]);
    });

    it("that are announced and never put are bounded in number", async () => {
      const many = (count: number, name: string) =>
        Array.from({ length: count }, (_, index) => upload({ objectKey: `${name}${index}`, size: null }));
      expect(await open(...many(unfinishedMax, "a"))).toMatchObject({ kind: "opened" });
      expect(await open(...many(1, "b"))).toEqual({ kind: "too_many", unfinishedMax });
      expect(await open(upload({ tenantId: "globex" }))).toMatchObject({ kind: "opened" });
    });

    it("that are announced again go on under their id, if size and hash are known and the same", async () => {
      const first = upload();
      await open(first);
      expect(await open(upload())).toEqual({ kind: "opened", ids: [first.id] });
      expect(await used()).toEqual([10]);
      for (const other of [{ size: 11 }, { sha256: "b".repeat(64) }, { userId: "u2" }, { sha256: null }]) {
        const second = upload(other);
        expect(await open(second)).toEqual({ kind: "opened", ids: [second.id] });
      }
      await arrive(first.id);
      const third = upload();
      expect(await open(third)).toEqual({ kind: "opened", ids: [third.id] });
    });

    it("can be read once they have arrived, the newest of a user first", async () => {
      const first = upload();
      await open(first);
      expect(await find()).toBeNull();
      expect(await scene().store.listUploads({ ...key, userId: "u1", nowMs: scene().nowMs })).toHaveLength(1);
      expect(await arrive(first.id)).toMatchObject({ state: "kept", sha256 });
      expect(await find()).toMatchObject({ id: first.id });
      expect(await find("u2")).toBeNull();
      const second = await stored();
      const others = await stored({ userId: "u2" });
      expect(await find()).toMatchObject({ id: second });
      expect(await find(null)).toMatchObject({ id: others });
      expect(await expired(), "what was replaced").toEqual([first.id]);
    });

    it("O-01: that a job names as its input stay when they are replaced, until the job is deleted", async () => {
      const other = "b".repeat(64);
      const named = await stored();
      const input = { folder_id: key.folderId, object_key: key.objectKey, sha256 };
      await scene().register();
      const job = await scene().submitAndClaim({ tenantId: "acme", inputs: [input, input] });
      const second = upload({ sha256: other });
      await open(second);
      await arrive(second.id, { sha256: other });
      expect(await find()).toMatchObject({ id: second.id });
      const byHash = (hash: string) =>
        scene().store.findObject({ ...key, userId: "u1", sha256: hash, nowMs: scene().nowMs });
      expect(await byHash(sha256)).toMatchObject({ id: named });
      expect(await byHash(other)).toMatchObject({ id: second.id });
      expect(await byHash("c".repeat(64))).toBeNull();
      expect(await expired()).toEqual([]);
      await scene().change(job, resultOf("1"));
      expect(await expired(), "a job that has ended still names it").toEqual([]);
      const { nowMs } = scene();
      const prune = { endedBefore: nowMs + 1, quarantinedBefore: nowMs + 1, limit: 9, nowMs };
      expect(await scene().store.pruneJobs(prune)).toEqual([job.job.id]);
      expect(await expired()).toEqual([named]);
      expect(await byHash(sha256)).toBeNull();
      expect(await find()).toMatchObject({ id: second.id });
    });

    it("O-01: that were replaced by the same bytes go at once: a job that names them gets the new ones", async () => {
      const named = await stored();
      const input = { folder_id: key.folderId, object_key: key.objectKey, sha256 };
      await scene().submit({ tenantId: "acme", inputs: [input] });
      const again = await stored();
      expect(await expired()).toEqual([named]);
      expect(await find()).toMatchObject({ id: again });
    });

    it("O-01: never change once they have arrived: a later upload is given the first", async () => {
      const one = upload({ size: null, sha256: null });
      await open(one);
      await reserve(one.id, 20);
      const arrivals = [
        { size: 10, sha256: "a".repeat(64), storedAs: "one" },
        { size: 20, sha256: "b".repeat(64), storedAs: "two" },
      ];
      const [first, second] = await Promise.all(arrivals.map((arrived) => arrive(one.id, arrived)));
      expect(second).toEqual(first);
      expect(first).toMatchObject(arrivals.find(({ storedAs }) => storedAs === first?.storedAs) ?? {});
      expect(await arrive(one.id, { size: 30, storedAs: "three" })).toEqual(first);
      expect(await get(one.id)).toEqual(first);
      expect(await reserve(one.id, 40)).toEqual({ kind: "unknown" });
      expect(await used()).toEqual([first?.size]);
    });

    it("O-01: are those that were the last to arrive, even if they were announced before", async () => {
      const [early, late] = [upload(), upload({ sha256: "b".repeat(64) })];
      await open(early, late);
      await arrive(late.id, { sha256: "b".repeat(64) });
      scene().nowMs += 1;
      const ofJob = await scene().submitAndStart();
      const output = await stored({ jobId: ofJob.job.id, attempt: 1 });
      const output_file = { folder_id: "f", object_key: key.objectKey, sha256, size: 10 };
      await scene().change(ofJob, { ...resultOf("1"), outputFiles: JSON.stringify([output_file]) });
      expect(await find(null)).toMatchObject({ id: output });
      scene().nowMs += 1;
      await arrive(early.id);
      expect(await find()).toMatchObject({ id: early.id });
      expect(await find(null)).toMatchObject({ id: early.id });
      expect(await expired(), "what was replaced").toEqual([late.id]);
    });

    it("O-01: are not brought back once their bytes are being removed", async () => {
      const [open1, late] = [upload({ objectKey: "x" }), upload({ objectKey: "y" })];
      await open(open1, late);
      const before = scene().nowMs;
      scene().nowMs += hourMs;
      expect((await expired()).sort()).toEqual([open1.id, late.id].sort());
      // A request that has looked before that, or a hub whose clock is behind.
      scene().nowMs = before;
      expect(await reserve(open1.id, 10)).toEqual({ kind: "unknown" });
      expect(await arrive(late.id)).toBeNull();
      expect(await open(upload({ objectKey: "x" }))).not.toMatchObject({ ids: [open1.id] });
    });

    it("O-01: in parts have the store's name that was noted first", async () => {
      const one = upload();
      await open(one);
      const note = (was: string | null, storeUpload: string | null) =>
        scene().store.noteStoreUpload({ id: one.id, was, storeUpload });
      expect(await note(null, "first")).toBe("first");
      expect(await note(null, "second")).toBe("first");
      expect(await note("second", null)).toBe("first");
      expect(await note("first", null)).toBeNull();
      expect(await note(null, "third")).toBe("third");
      expect(await get(one.id)).toMatchObject({ storeUpload: "third" });
    });

    it("do not exist any longer once they are dropped or expired, and count until their bytes are gone", async () => {
      const [mine, theirs] = [await stored(), await stored({ userId: "u2" })];
      const drop = () => scene().store.dropObjects({ ...key, userId: "u1", nowMs: scene().nowMs });
      expect(await drop()).toEqual({ dropped: 1 });
      expect(await drop()).toEqual({ dropped: 0 });
      expect(await find()).toBeNull();
      expect(await scene().store.getObject({ id: mine, nowMs: scene().nowMs })).toBeNull();
      expect(await expired()).toEqual([mine]);
      expect(await used()).toEqual([20]);
      await scene().store.forgetObjects({ ids: [mine, mine] });
      expect(await used()).toEqual([10]);
      scene().nowMs += 10 * hourMs;
      expect(await expired()).toEqual([theirs]);
    });

    describe("of a job", () => {
      const files = (...keys: string[]) =>
        JSON.stringify(keys.map((object_key) => ({ folder_id: "f", object_key, sha256, size: 10 })));
      const listed = async (jobId: string) => {
        const objects = await scene().store.listJobObjects({ jobId, nowMs: scene().nowMs });
        return objects.map(({ id, state }) => [id, state]);
      };

      it("become readable with the end of their attempt; what it does not list goes", async () => {
        const claimed = await scene().submitAndStart();
        const of = { jobId: claimed.job.id, attempt: 1 };
        const [a, b] = [await stored({ ...of, objectKey: "a" }), await stored({ ...of, objectKey: "b" })];
        expect(await listed(of.jobId)).toEqual([
          [a, "arrived"],
          [b, "arrived"],
        ]);
        await scene().change(claimed, { ...resultOf("1"), outputFiles: files("a") });
        expect(await listed(of.jobId)).toEqual([[a, "kept"]]);
        expect(await expired()).toEqual([b]);
      });

      it("of an attempt that failed go when the next one has its own", async () => {
        const claimed = await scene().submitAndStart();
        const jobId = claimed.job.id;
        const first = await stored({ jobId, attempt: 1, objectKey: "a" });
        await scene().change(claimed, { ...failureOf("EXECUTION_ERROR"), outputFiles: files("a") });
        expect(await listed(jobId)).toEqual([[first, "kept"]]);
        scene().nowMs += hourMs;
        await scene().store.promoteJobs({ nowMs: scene().nowMs, limit: 10 });
        const [again] = (await scene().claimUpTo(1)).claimed;
        const second = await stored({ jobId, attempt: 2, objectKey: "a" });
        await scene().change(again!, { ...resultOf("1"), outputFiles: files("a") });
        expect(await listed(jobId)).toEqual([[second, "kept"]]);
      });

      it("stay as long as the attempt is held, and go after it, or with the job", async () => {
        const claimed = await scene().submitAndStart();
        const jobId = claimed.job.id;
        const left = await stored({ jobId, attempt: 1, objectKey: "left" });
        scene().nowMs += hourMs;
        expect(await expired()).toEqual([]);
        expect(await listed(jobId)).toEqual([[left, "arrived"]]);
        const kept = await stored({ jobId, attempt: 1, objectKey: "a" });
        await scene().store.changeJobs({
          changes: [{ jobId, change: { act: "disconnect" } }],
          rules: scene().rules,
          origin: null,
        });
        scene().nowMs += hourMs;
        expect((await expired()).sort()).toEqual([left, kept].sort());

        const other = await scene().submitAndStart();
        const file = await stored({ jobId: other.job.id, attempt: 1, objectKey: "a" });
        await scene().change(other, { ...resultOf("1"), outputFiles: files("a") });
        scene().nowMs += hourMs;
        const before = scene().nowMs;
        await scene().store.pruneJobs({
          endedBefore: before,
          quarantinedBefore: 0,
          limit: 10,
          nowMs: before,
        });
        expect(await listed(other.job.id)).toEqual([]);
        expect(await expired()).toContain(file);
      });
    });
  });
}
