import type { Command } from "commander";
import type { JobInput, Writ } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { compareJobs } from "./compare.ts";

/** Each is a whole run of an agent, with its own costs. */
const jobsMax = 32;

/** The agents that an option names, each as often as asked for. Throws if that is none, or too many. */
export function agentsIn(names: string, times: number): string[] {
  const agents = names.split(",").map((name) => name.trim());
  if (agents.some((name) => name === ""))
    throw new WritError(
      "INVALID_ARGUMENT",
      `--agent: "${names}" has an empty name; use one name, or several with commas`,
    );
  const count = agents.length * times;
  if (count > jobsMax)
    throw new WritError("INVALID_ARGUMENT", `--n: ${count} jobs are too many; use at most ${jobsMax} in all`);
  return Array.from({ length: times }, () => agents).flat();
}

type Several = {
  context: CliContext;
  command: Command;
  job: JobInput;
  agents: readonly string[];
  isDetached: boolean;
};

/** Gives one task to several agents, all or none of them, and compares what they made of it when all have ended. */
export async function delegateSeveral(
  writ: Writ,
  { context, command, job, agents, isDetached }: Several,
): Promise<void> {
  const { stderr, stops, program } = context;
  const jobs = agents.map((agent) => ({ ...job, run: { ...job.run, agent } }) as JobInput);
  const accepted = await writ.submitBatch(jobs);
  const ids = accepted.map(({ id }) => id);
  if (isDetached) {
    for (const id of ids) print(context, command, { job_id: id }, () => `${id}\n`);
    return;
  }
  stderr.write(`${program}: ${ids.length} jobs: ${ids.join(" ")}\n`);
  try {
    const ended = await writ.waitAll(ids, { signal: stops.requested });
    if (ended.some(({ status }) => status !== "completed")) context.exitCode = 1;
  } catch (error) {
    if (!stops.requested.aborted) throw error;
    stderr.write("stopped waiting; the jobs continue\n");
    context.exitCode = stops.exitCode;
    return;
  }
  await compareJobs(writ, { context, command, jobIds: ids, hasDiffs: false });
}
