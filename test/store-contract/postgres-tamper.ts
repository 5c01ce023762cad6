import { withClient } from "../support/postgres-cluster.ts";
import type { Tamper } from "./under-test.ts";

/** What somebody with access to the database could do, on a connection of their own. */
export function postgresTamper(url: () => Promise<string>): Tamper {
  const run = async (...statements: [string, ...unknown[]][]): Promise<void> =>
    withClient(await url(), async (client) => {
      await client.query("SET search_path = writ");
      for (const [text, ...values] of statements) await client.query(text, values);
    });
  const states = ["ready", "delayed", "held", "active", "ended"];
  const ofJob = "WHERE seq = (SELECT seq FROM jobs WHERE id = $1)";
  const editState = (jobId: string, column: string, value: unknown) =>
    run(
      ...states.map((place): [string, ...unknown[]] => [
        `UPDATE ${place} SET ${column} = $2 ${ofJob}`,
        jobId,
        value,
      ]),
    );
  return {
    // The timeout of the next lease is the only sealed field that changes, so it is with the state.
    editJob: (jobId, field, value) =>
      field === "timeoutSec"
        ? editState(jobId, "timeout_sec", value)
        : run([`UPDATE jobs SET ${columnOf(field)} = $2 WHERE id = $1`, jobId, value]),
    editText: (jobId, field, text) => editState(jobId, columnOf(field), text),
    editEnd: async (jobId, end) => {
      for (const [field, value] of Object.entries(end)) await editState(jobId, columnOf(field), value);
    },
    moveJob: async (jobId, toQueueOf) => {
      const queue = "(SELECT queue_id FROM jobs WHERE id = $2)";
      await run(
        ...states.map((place): [string, ...unknown[]] => [
          `UPDATE ${place} SET queue_id = ${queue} ${ofJob}`,
          jobId,
          toQueueOf,
        ]),
        [`UPDATE jobs SET queue_id = ${queue} WHERE id = $1`, jobId, toQueueOf],
      );
    },
    editDocument: (jobId, document) => run(["UPDATE jobs SET document = $2 WHERE id = $1", jobId, document]),
    editInDocument: async (jobId, from, to) =>
      withClient(await url(), async (client) => {
        const edit = `UPDATE writ.jobs SET document = replace(document, $1, $2)
          WHERE id = $3 AND position($1 IN document) > 0`;
        const { rowCount } = await client.query(edit, [from, to, jobId]);
        if (rowCount !== 1) throw new Error(`the document of ${jobId} does not contain ${from}`);
      }),
    removeDocument: (jobId) => run(["UPDATE jobs SET document = NULL, mac = NULL WHERE id = $1", jobId]),
    swapDocuments: (jobId, otherId) =>
      run([
        `UPDATE jobs SET document = other.document, mac = other.mac FROM jobs AS other
          WHERE (jobs.id, other.id) IN (($1, $2), ($2, $1))`,
        jobId,
        otherId,
      ]),
    editReceipt: (jobId, edit) => {
      const [field, value] = Object.entries(edit)[0]!;
      return run([`UPDATE receipts SET ${columnOf(field)} = $2 WHERE job_id = $1`, jobId, value]);
    },
    editEvent: (seq, details) => run(["UPDATE events SET details = $2 WHERE seq = $1", seq, details]),
    removeEvent: (seq) => run(["DELETE FROM events WHERE seq = $1", seq]),
    removeSeals: (afterSeq) => run(["DELETE FROM audit_seals WHERE seq > $1", afterSeq]),
    dropOutput: (jobId) =>
      run([
        `INSERT INTO job_outputs AS o (seq, dropped_through)
          SELECT seq, attempt FROM job_states ${ofJob}
          ON CONFLICT (seq) DO UPDATE SET bytes = 0, dropped_through = excluded.dropped_through`,
        jobId,
      ]),
  };
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
