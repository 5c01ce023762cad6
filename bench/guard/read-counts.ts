import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { hasCode } from "../../src/core/errors.ts";
import { type Counts, snapshot } from "./count.ts";

const settleMs = 5;
const looksMax = 40;

/** The counts of all processes that tell them in this folder, and of this one. */
async function readCounts(folder: string): Promise<Counts> {
  const told = await Promise.all(readdirSync(folder).map((name) => ask(join(folder, name))));
  // Of this process only what its worker does counts: it reads the database to know when an act has ended.
  return sum([...told.flat(), { ...snapshot(), statements: {}, bytes: 0, allocatedBytes: 0 }]);
}

/** The counts once nothing more is counted: what an act leaves for later belongs to it. */
export async function readSettled(folder: string): Promise<Counts> {
  let last = await readCounts(folder);
  for (let look = 0; look < looksMax; look++) {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const next = await readCounts(folder);
    if (workOf(next) === workOf(last)) return next;
    last = next;
  }
  return last;
}

export function difference(after: Counts, before: Counts): Counts {
  const statements: Record<string, number> = {};
  for (const [text, count] of Object.entries(after.statements)) {
    const more = count - (before.statements[text] ?? 0);
    if (more > 0) statements[text] = more;
  }
  return {
    statements,
    fileSyncs: after.fileSyncs - before.fileSyncs,
    messages: after.messages - before.messages,
    bytes: after.bytes - before.bytes,
    allocatedBytes: after.allocatedBytes - before.allocatedBytes,
  };
}

export function statementCount({ statements }: Counts): number {
  return Object.values(statements).reduce((total, count) => total + count, 0);
}

function workOf(counts: Counts): string {
  return [statementCount(counts), counts.fileSyncs, counts.messages, counts.bytes].join();
}

function sum(all: readonly Counts[]): Counts {
  const total: Counts = { statements: {}, fileSyncs: 0, messages: 0, bytes: 0, allocatedBytes: 0 };
  for (const counts of all) {
    for (const [text, count] of Object.entries(counts.statements))
      total.statements[text] = (total.statements[text] ?? 0) + count;
    total.fileSyncs += counts.fileSyncs;
    total.messages += counts.messages;
    total.bytes += counts.bytes;
    total.allocatedBytes += counts.allocatedBytes;
  }
  return total;
}

/** A process that has just started has its socket before it listens there; one that has ended may leave it behind. */
async function ask(path: string): Promise<Counts[]> {
  for (let look = 0; look < looksMax; look++) {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of connect(path)) chunks.push(chunk as Buffer);
      return JSON.parse(Buffer.concat(chunks).toString());
    } catch (error) {
      if (!hasCode(error, "ECONNREFUSED") && !hasCode(error, "ENOENT")) throw error;
      await new Promise((resolve) => setTimeout(resolve, settleMs));
    }
  }
  return [];
}
