import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Tamper } from "./under-test.ts";

/** What somebody with access to the file could do, on a connection of their own. */
export function sqliteTamper(path: string): Tamper {
  const run = async (sql: string, ...values: SQLInputValue[]): Promise<void> =>
    withDatabase(path, (database) => database.prepare(sql).run(...values));
  const ofJob = "WHERE job_seq = (SELECT seq FROM jobs WHERE id = ?)";
  return {
    editJob: (jobId, field, value) =>
      run(`UPDATE jobs SET ${columnOf(field)} = ? WHERE id = ?`, toSql(value), jobId),
    editText: (jobId, field, text) => run(`UPDATE jobs SET ${columnOf(field)} = ? WHERE id = ?`, text, jobId),
    moveJob: (jobId, toQueueOf) =>
      run(
        "UPDATE jobs SET queue_id = (SELECT queue_id FROM jobs WHERE id = ?) WHERE id = ?",
        toQueueOf,
        jobId,
      ),
    editDocument: (jobId, document) => run(`UPDATE documents SET document = ? ${ofJob}`, document, jobId),
    editInDocument: async (jobId, from, to) =>
      withDatabase(path, (database) => {
        const edit = `UPDATE documents SET document = replace(document, ?1, ?2)
          WHERE job_seq = (SELECT seq FROM jobs WHERE id = ?3) AND instr(document, ?1) > 0`;
        const { changes } = database.prepare(edit).run(from, to, jobId);
        if (changes !== 1) throw new Error(`the document of ${jobId} does not contain ${from}`);
      }),
    removeDocument: (jobId) => run(`DELETE FROM documents ${ofJob}`, jobId),
    swapDocuments: async (jobId, otherId) =>
      withDatabase(path, (database) => {
        const read = database.prepare(`SELECT document, mac FROM documents ${ofJob}`);
        const write = database.prepare(`UPDATE documents SET document = ?, mac = ? ${ofJob}`);
        const [one, other] = [jobId, otherId].map((id) => read.get(id)!);
        write.run(other!["document"]!, other!["mac"]!, jobId);
        write.run(one!["document"]!, one!["mac"]!, otherId);
      }),
    editReceipt: (jobId, edit) => {
      const [field, value] = Object.entries(edit)[0] as [string, SQLInputValue];
      return run(`UPDATE receipts SET ${columnOf(field)} = ? WHERE job_id = ?`, value, jobId);
    },
    editEvent: (seq, details) => run("UPDATE events SET details = ? WHERE seq = ?", details, seq),
    removeEvent: (seq) => run("DELETE FROM events WHERE seq = ?", seq),
    removeSeals: (afterSeq) => run("DELETE FROM audit_seals WHERE seq > ?", afterSeq),
    dropOutput: (jobId) =>
      run("UPDATE jobs SET output_bytes = 0, output_dropped_through = attempt WHERE id = ?", jobId),
  };
}

export function withDatabase(path: string, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    use(database);
  } finally {
    database.close();
  }
}

function toSql(value: string | number | boolean | null): SQLInputValue {
  return typeof value === "boolean" ? Number(value) : value;
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
