import type { Command } from "commander";
import type { Job, Writ } from "../../../client/index.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { formatCost } from "../../../core/text/format-cost.ts";
import { showAll } from "../../../core/text/neutralise.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { formatDuration } from "../../terminal/duration.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import { jobIdHelp, resolveJobId, shortId } from "../../terminal/short-id.ts";
import type { Column } from "../../terminal/table.ts";
import { refuseOtherKinds } from "./delegate-result.ts";
import { diffStat } from "./diff-stat.ts";
import { fetchDiff } from "./fetch-diff.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<ids...>", jobIdHelp)
    .option("--diff", "also show each diff below the table")
    .addHelpText(
      "after",
      "\nCalls, tokens and cost are what each agent reports of itself, if its entry names a protocol. `jobctl apply ID` takes one.",
    )
    .action((ids: string[], flags: { diff?: boolean }) =>
      withWrit(context, command, async (writ) => {
        const jobIds: string[] = [];
        for (const id of ids) jobIds.push(await resolveJobId(writ, id));
        await compareJobs(writ, { context, command, jobIds, hasDiffs: flags.diff === true });
      }),
    );
}

/** One attempt at a task, beside the others. */
type Compared = {
  job_id: string;
  agent: string;
  status: string;
  /** Why it did not complete; empty if it did, or has not ended. */
  why: string;
  files: number;
  added: number;
  removed: number;
  calls: number | null;
  refused: number | null;
  tokens: number | null;
  cost_usd: number | null;
  took_ms: number | null;
  sha256: string | null;
  diff?: string;
};

type CompareInput = { context: CliContext; command: Command; jobIds: readonly string[]; hasDiffs: boolean };

export async function compareJobs(
  writ: Writ,
  { context, command, jobIds, hasDiffs }: CompareInput,
): Promise<void> {
  const rows: Compared[] = [];
  const texts: string[] = [];
  for (const id of jobIds) {
    const job = await writ.get(id);
    refuseOtherKinds(job);
    const diff = await fetchDiff(writ, id, context.stops.requested);
    const text = diff?.bytes.toString("utf8") ?? "";
    texts.push(text);
    const withDiff = hasDiffs && wantsJson(command) ? { diff: text } : {};
    rows.push({ ...comparedOf(job, text), sha256: diff?.sha256 ?? null, ...withDiff });
  }
  await printRows(context, command, { rows, columns: columnsOf(rows), none: "no jobs" });
  if (!hasDiffs || wantsJson(command)) return;
  const isTerminal = context.stdout.isTTY === true;
  for (const [index, text] of texts.entries()) {
    const head = `\n# ${shortId(rows[index]!.job_id)}\n`;
    await writeSlowly(context, `${head}${isTerminal ? showAll(text) : text}`, context.stops.requested);
  }
}

function comparedOf(job: Job, diff: string): Omit<Compared, "sha256"> {
  const files = diffStat(diff);
  const sum = (count: "added" | "removed"): number => files.reduce((all, file) => all + file[count], 0);
  const { agent, run, started_at: from, completed_at: to } = job;
  return {
    job_id: job.id,
    agent: run?.kind === "delegate" ? String(run.agent) : "",
    status: job.status,
    why: isEnded(job.status) ? (job.fail_detail ?? job.fail_code ?? "") : "",
    files: files.length,
    added: sum("added"),
    removed: sum("removed"),
    calls: agent?.tool_calls ?? null,
    refused: agent?.denied ?? null,
    tokens: agent ? agent.tokens_in + agent.tokens_out : null,
    cost_usd: agent?.cost_usd ?? null,
    took_ms: from === null || to === null ? null : to - from,
  };
}

/** The same diff under two ids is said once: the agents came to the same. */
function columnsOf(rows: readonly Compared[]): Column<Compared>[] {
  const firstWith = (sha256: string | null): Compared | undefined =>
    rows.find((row) => row.sha256 === sha256);
  return [
    { title: "ID", cell: ({ job_id }) => shortId(job_id) },
    { title: "AGENT", cell: ({ agent }) => agent },
    { title: "STATE", cell: ({ status, why }) => (why === "" ? status : `${status} (${why})`) },
    { title: "FILES", cell: ({ files }) => files },
    { title: "LINES", cell: ({ added, removed }) => `+${added} -${removed}` },
    { title: "CALLS", cell: ({ calls, refused }) => callsText(calls, refused) },
    { title: "TOKENS", cell: ({ tokens }) => tokens },
    { title: "COST", cell: ({ cost_usd: cost }) => (cost === null ? null : formatCost(cost)) },
    { title: "TOOK", cell: ({ took_ms: ms }) => (ms === null ? null : formatDuration(ms)) },
    {
      title: "SAME AS",
      cell: ({ job_id, sha256 }) => {
        const first = sha256 === null ? undefined : firstWith(sha256);
        return first === undefined || first.job_id === job_id ? null : shortId(first.job_id);
      },
    },
  ];
}

function callsText(calls: number | null, refused: number | null): string | null {
  if (calls === null) return null;
  return refused === null || refused === 0 ? String(calls) : `${calls} (${refused} refused)`;
}
