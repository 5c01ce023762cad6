import { describe, expect, it } from "vitest";
import type { StoreUnderTest } from "./scene.ts";
import { useScene } from "./use-scene.ts";

const edits = [
  { what: "its document", sql: "UPDATE documents SET document = '{}'" },
  { what: "its seal", sql: "DELETE FROM documents" },
  { what: "its tenant", sql: "UPDATE jobs SET tenant_id = 'other'" },
  { what: "its user", sql: "UPDATE jobs SET user_id = 'other'" },
  { what: "its type", sql: "UPDATE jobs SET type = 'other'" },
  { what: "its priority", sql: "UPDATE jobs SET priority = 9" },
  { what: "its timeout", sql: "UPDATE jobs SET document_timeout_sec = 9" },
  { what: "its attempts", sql: "UPDATE jobs SET max_attempts = 9" },
  { what: "its hash", sql: "UPDATE jobs SET document_sha256 = '00'" },
  { what: "its idempotency key", sql: "UPDATE jobs SET idempotency_key = 'other'" },
];

export function describeSeals(create: () => StoreUnderTest): void {
  describe("the seal", () => {
    const scene = useScene(create);

    for (const { what, sql } of edits) {
      it(`keeps a job from every worker when somebody edited ${what}`, async () => {
        const forged = await scene().submit();
        await scene().under.execute(`${sql} WHERE TRUE`);
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

    it("keeps a job from the workers of another queue that it was moved to", async () => {
      const forged = await scene().submit({ facts: { tags: ["secret"] } });
      const open = await scene().submit();
      await scene().under.execute(
        `UPDATE jobs SET queue_id = (SELECT queue_id FROM jobs AS o WHERE o.id = '${open}') WHERE id = '${forged}'`,
      );
      expect((await scene().claimUpTo(2)).refused).toEqual([forged]);
    });

    it("does not let two jobs exchange their documents", async () => {
      const a = await scene().submit();
      const b = await scene().submit();
      const [one, two] = await Promise.all([
        scene().store.getJob({ jobId: a }),
        scene().store.getJob({ jobId: b }),
      ]);
      const put = (seq: number, other: number) =>
        `(SELECT mac FROM kept WHERE job_seq = ${other}) WHERE job_seq = ${seq}`;
      const { seq: first } = one!.job;
      const { seq: second } = two!.job;
      await scene().under.execute("CREATE TABLE kept AS SELECT * FROM documents");
      for (const [seq, other, document] of [
        [first, second, two!.document],
        [second, first, one!.document],
      ] as const) {
        await scene().under.execute(
          `UPDATE documents SET document = '${document}', mac = ${put(seq, other)}`,
        );
      }
      expect((await scene().claimUpTo(2)).refused.sort()).toEqual([a, b].sort());
    });
  });
}
