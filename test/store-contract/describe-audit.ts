import { describe, expect, it } from "vitest";
import type { AuditFilter, AuditMark } from "../../src/store/audit-store.ts";
import type { HotRow } from "../../src/store/log/audit-reader.ts";
import { auditHash, auditRecord, firstHash } from "../../src/store/log/audit-record.ts";
import { origin, startMs } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeAudit(create: () => StoreUnderTest): void {
  describe("the audit trail", () => {
    const scene = useScene(create);
    const search = (filter: Partial<AuditFilter>) =>
      scene().store.searchAudit({ before: 1_000, window: 1_000, limit: 100, ...filter });

    it("has nothing to seal at first", async () => {
      expect(await scene().store.sealEvents({ limit: 9 })).toEqual({ sealed: 0, head: null, more: false });
      expect(await search({})).toEqual({ records: [], next: null });
    });

    it("tells what came after a record, and looks at nothing before it", async () => {
      for (let count = 0; count < 4; count++) await scene().submit();
      const newer = async (seq: number, limit = 100) => {
        const { records, next } = await search({ after: seq, limit });
        return [records.map((record) => record.seq), next];
      };
      expect(await newer(2)).toEqual([[4, 3], null]);
      expect(await newer(4)).toEqual([[], null]);
      expect(await newer(1, 2)).toEqual([[4, 3], 3]);
    });

    it("is searched for several kinds, and for all but one", async () => {
      await scene().register();
      await scene().submit();
      const kindsIn = async (filter: Partial<AuditFilter>) =>
        (await search(filter)).records.map(({ event }) => event);
      expect(await kindsIn({})).toEqual(["JOB_CREATED", "WORKER_REGISTERED"]);
      expect(await kindsIn({ without: ["JOB_CREATED", "JOB_STARTED"] })).toEqual(["WORKER_REGISTERED"]);
      expect(await kindsIn({ kinds: ["JOB_CREATED", "LOCKDOWN"] })).toEqual(["JOB_CREATED"]);
      expect(await kindsIn({ kinds: [] })).toEqual([]);
    });

    const expectChain = async (seqs: number[]) => {
      const records = await scene().store.readSealed({ afterSeq: 0, limit: 99 });
      expect(records.map(({ seq }) => seq)).toEqual(seqs);
      let previous = firstHash;
      for (const { hash, ...record } of records) {
        expect(record.prev_hash).toBe(previous);
        expect(auditHash(record)).toBe(hash);
        previous = hash;
      }
      return previous;
    };

    it("is sealed with each event, in order, also after a restart", async () => {
      for (let count = 0; count < 3; count++) await scene().submit();
      await expectChain([1, 2, 3]);
      await scene().reopen();
      for (let count = 0; count < 2; count++) await scene().submit();
      const hash = await expectChain([1, 2, 3, 4, 5]);
      const head = { seq: 5, hash };
      expect(await scene().store.sealEvents({ limit: 3 })).toEqual({ sealed: 0, head, more: false });
    });

    it("has no hole where a call of a group was refused or two stores take turns", async () => {
      await scene().submit({ idempotencyKey: "k", requestHash: "a" });
      const taken = scene().newJob({ idempotencyKey: "k", requestHash: "b" });
      const outcomes = await Promise.all([
        scene().submitAll([scene().newJob()]),
        scene().submitAll([scene().newJob(), taken]),
        scene().submitAll([scene().newJob()]),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["accepted", "mismatch", "accepted"]);
      await expectChain([1, 2, 3]);
      const other = await scene().openAnother();
      await other.submitJobs({ jobs: [scene().newJob()], maxPending: null, origin: null });
      await scene().submit();
      await expectChain([1, 2, 3, 4, 5]);
    });

    it("is completed over several acts where an earlier version left events unsealed", async ({ skip }) => {
      const { removeSeals } = scene().under.tamper;
      if (removeSeals === null) return skip("it never leaves one unsealed");
      for (let count = 0; count < 5; count++) await scene().submit();
      await removeSeals(1);
      await scene().submit();
      await expectChain([1]);
      expect(await scene().store.sealEvents({ limit: 4 })).toMatchObject({ sealed: 4, more: true });
      await scene().submit();
      await scene().reopen();
      const { sealed, head, more } = await scene().store.sealEvents({ limit: 4 });
      expect({ sealed, more, seq: head?.seq }).toEqual({ sealed: 2, more: false, seq: 7 });
      await scene().submit();
      await expectChain([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    it("loses its oldest records with their seals, but the next one still follows the last that left", async () => {
      for (let count = 0; count < 4; count++) await scene().submit();
      const before = await scene().store.readSealed({ afterSeq: 2, limit: 9 });
      expect(await scene().store.pruneEvents({ throughSeq: 2, limit: 9 })).toEqual({ removed: 2 });
      expect(await scene().store.readSealed({ afterSeq: 0, limit: 9 })).toEqual(before);
      await scene().store.pruneEvents({ throughSeq: 4, limit: 9 });
      await scene().submit();
      const [next] = await scene().store.readSealed({ afterSeq: 0, limit: 9 });
      expect(next).toMatchObject({ seq: 5, prev_hash: before.at(-1)!.hash });
    });

    it("is searched newest first, a window at a time, by every field", async () => {
      const id = await scene().submit();
      scene().nowMs += 1_000;
      await scene().submit({ tenantId: "other" });
      await scene().register();
      const seqs = async (filter: Partial<AuditFilter>) =>
        (await search(filter)).records.map(({ seq }) => seq);
      expect(await seqs({})).toEqual([3, 2, 1]);
      expect(await seqs({ event: "JOB_CREATED" })).toEqual([2, 1]);
      expect(await seqs({ tenantId: "other" })).toEqual([2]);
      expect(await seqs({ jobId: id })).toEqual([1]);
      expect(await seqs({ userId: "u1" })).toEqual([3, 2, 1]);
      expect(await seqs({ userId: "nobody" })).toEqual([]);
      expect(await seqs({ severity: "HIGH" })).toEqual([]);
      expect(await seqs({ since: startMs + 1 })).toEqual([3, 2]);
      expect(await seqs({ until: startMs + 1 })).toEqual([1]);
      expect(await search({ window: 1, tenantId: "acme" })).toEqual({ records: [], next: 3 });
      expect(await search({ limit: 1 })).toMatchObject({ records: [{ seq: 3 }], next: 3 });
      expect(await search({ before: 2 })).toMatchObject({ records: [{ seq: 1 }], next: null });
    });

    it("counts the events of a stretch", async () => {
      await scene().submit();
      await scene().submit();
      await scene().submit({ tenantId: "other" });
      const counts = await scene().store.countEvents({ afterSeq: 1, throughSeq: 3, kinds: ["JOB_CREATED"] });
      expect(counts).toHaveLength(2);
      expect(counts).toContainEqual({ event: "JOB_CREATED", tenantId: "other", userId: "u1", count: 1 });
    });

    it("O-09: counts and finds events that contain a NUL like any others", async () => {
      const common = {
        event: "PERMISSION_DENIED" as const,
        ts: startMs,
        tenantId: "acme",
        jobId: null,
        ownerId: null,
      };
      const byUser = (userId: string) => ({ ...origin, userId, userAgent: "a\0b" });
      await scene().store.recordEvents({
        events: [
          { ...common, details: { reason: "a\0b" }, origin: byUser("al") },
          { ...common, details: { error: "\\u0000", folded: 4, since: 1 }, origin: byUser("al") },
          { ...common, details: { reason: '"folded":7' }, origin: byUser('a"l') },
          { ...common, details: { nested: { folded: 7 } }, origin: null },
        ],
      });
      await scene().store.sealEvents({ limit: 10 });
      const kinds = ["PERMISSION_DENIED" as const];
      expect(await scene().store.countEvents({ afterSeq: 0, throughSeq: 4, kinds })).toEqual([
        { event: "PERMISSION_DENIED", tenantId: "acme", userId: "al", count: 5 },
        { event: "PERMISSION_DENIED", tenantId: "acme", userId: 'a"l', count: 1 },
        { event: "PERMISSION_DENIED", tenantId: "acme", userId: null, count: 1 },
      ]);
      expect((await search({ userId: "al" })).records.map(({ seq }) => seq)).toEqual([2, 1]);
      expect((await search({ userId: 'a"l' })).records.map(({ seq }) => seq)).toEqual([3]);
    });

    it("keeps the newest statements about itself", async () => {
      const mark = (seq: number): AuditMark => ({
        audit: "head",
        seq,
        hash: `hash ${seq}`,
        ts: seq,
        key_id: "k",
        signature: "s",
      });
      expect(await scene().store.findAuditMark({ audit: "head" })).toBeNull();
      for (const seq of [1, 2, 2]) await scene().store.saveAuditMark({ mark: mark(seq) });
      await scene().reopen();
      expect(await scene().store.findAuditMark({ audit: "head" })).toEqual(mark(2));
      expect(await scene().store.findAuditMark({ audit: "start" })).toBeNull();
    });
  });

  describe("a reader of the audit trail without a hub", () => {
    const scene = useScene(create);
    const rows = async (afterSeq = 0) => {
      const reader = await scene().under.openAuditReader();
      try {
        const found = await Array.fromAsync(reader.rows(afterSeq));
        return { rows: found, marks: await reader.marks(), lastSeq: await reader.lastSeq() };
      } finally {
        await reader.close();
      }
    };
    /** Does the record still have the hash that it was sealed with? */
    const holds = ({ event, seal }: HotRow, before: HotRow | undefined) => {
      if (event === null || seal === null) return false;
      const prevHash = before?.seal?.hash ?? firstHash;
      return auditHash(auditRecord(event, { severity: seal.severity, prevHash })) === seal.hash;
    };

    it("finds every event beside its seal, in order, and those that have none yet", async ({ skip }) => {
      const { removeSeals } = scene().under.tamper;
      if (removeSeals === null) return skip("it never leaves one unsealed");
      for (let count = 0; count < 3; count++) await scene().submit();
      await removeSeals(2);
      const found = await rows();
      expect(found.lastSeq).toBe(3);
      expect(found.rows.map(({ seq, seal }) => [seq, seal !== null])).toEqual([
        [1, true],
        [2, true],
        [3, false],
      ]);
      expect(holds(found.rows[0]!, undefined) && holds(found.rows[1]!, found.rows[0])).toBe(true);
      expect((await rows(2)).rows.map(({ seq }) => seq)).toEqual([3]);
    });

    it("A9: continues the chain after numbers that were skipped, and never gives them", async () => {
      await scene().submit();
      const { head } = await scene().store.sealEvents({ limit: 9 });
      const { id } = await scene().store.getDatabase();
      await scene().store.skipEvents({ throughSeq: 50, hash: head!.hash });
      expect(await scene().store.getDatabase()).toEqual({ id, lastSeq: 50 });
      // Once more changes nothing.
      await scene().store.skipEvents({ throughSeq: 40, hash: "other" });
      await scene().submit();
      const found = await rows(1);
      expect(found.rows.map(({ seq, event }) => [seq, event !== null])).toEqual([
        [50, false],
        [51, true],
      ]);
      expect(holds(found.rows[1]!, found.rows[0])).toBe(true);
      const [record] = await scene().store.readSealed({ afterSeq: 50, limit: 1 });
      expect(record).toMatchObject({ seq: 51, prev_hash: head!.hash });
      await scene().reopen();
      expect(await scene().store.getDatabase()).toEqual({ id, lastSeq: 51 });
    });

    it("finds what was edited, even where it still means the same, and what was taken away", async () => {
      for (let count = 0; count < 3; count++) await scene().submit();
      const { details } = (await rows()).rows[0]!.event!;
      await scene().under.tamper.editEvent(1, JSON.stringify(details, null, 1));
      await scene().under.tamper.removeEvent(3);
      const [first, second, third] = (await rows()).rows;
      expect(holds(first!, undefined)).toBe(false);
      expect(holds(second!, first)).toBe(true);
      expect(third).toMatchObject({ seq: 3, event: null, seal: { severity: "LOW" } });
      expect((await rows()).lastSeq).toBe(3);
    });
  });
}
