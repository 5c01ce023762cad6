import type { Argument, Command, Option } from "commander";
import type { RpcJob, Writ } from "../../client/index.ts";
import type { RpcListFilter } from "../../client/jobs/jobs.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { withJobs } from "../connection/with-jobs.ts";
import type { CliContext } from "../context.ts";
import { shortId } from "../terminal/short-id.ts";

/** What only the hub knows. */
type Kind = "jobs" | "workers" | "types" | "tenants" | "tokens" | "keys";

export type Candidates = { kind: Kind | undefined; command: Command; current: string };

const kindsOfOptions: Record<string, Kind> = {
  "--worker": "workers",
  "--type": "types",
  "--tenant": "tenants",
  "--job": "jobs",
};

export function kindOfOption(command: Command, { long }: Option): Kind | undefined {
  // Its jobs are not the hub's.
  return command.parent?.name() === "registry" ? undefined : kindsOfOptions[long ?? ""];
}

/** What an id names in the commands of `writ`, by the command above. */
const kindsOfIds: Record<string, Kind> = { workers: "workers", tokens: "tokens", keys: "keys" };

export function kindOfArgument(command: Command, argument: Argument): Kind | undefined {
  const parent = command.parent?.name() ?? "";
  const kinds: Record<string, Kind | undefined> = {
    id: parent === "jobctl" || parent === "artifacts" ? "jobs" : kindsOfIds[parent],
    type: "types",
    tenant: "tenants",
  };
  return kinds[argument.name()];
}

/** A person waits at the prompt, so a hub that is slow or away counts as one that knows nothing. */
const answerMsMax = 2_000;

export async function candidatesOf(context: CliContext, asked: Candidates): Promise<string[]> {
  const tooLate = systemClock.sleep(answerMsMax).then((): string[] => []);
  return Promise.race([ask(context, asked), tooLate]);
}

function ask(context: CliContext, { kind, command, current }: Candidates): Promise<string[]> {
  if (kind === undefined) return Promise.resolve([]);
  if (kind === "jobs") return jobIds(context, command, current);
  if (kind === "types") return types(context, command);
  return askWrit(context, command, async (writ) => {
    if (kind === "workers") return (await writ.workers()).map(({ id }) => id);
    if (kind === "tenants") return (await writ.fleet.quotas()).map(({ tenant_id: id }) => id);
    if (kind === "tokens") return (await writ.tokens()).filter(isValid).map(({ id }) => id);
    return (await writ.keys()).map(({ key_id: id }) => id);
  });
}

function isValid({ revoked_at: revokedAt }: { revoked_at: number | null }): boolean {
  return revokedAt === null;
}

/** Ids are completed without this client, which takes longer to load than to ask. */
async function askWrit<T>(
  context: CliContext,
  command: Command,
  act: (writ: Writ) => Promise<T>,
): Promise<T> {
  const { withWrit } = await import("../connection/connection.ts");
  return withWrit(context, command, act);
}

/** As many as a person can look through: more take the hub longer, and a late answer is not shown. */
const newestJobs = 50;
/** From so many characters on, the hub finds the jobs whose ids begin so, however old they are. */
const idPartMin = 8;

/** Which jobs a command can do something with; all others take any. */
const filters: Record<string, RpcListFilter> = {
  stop: { status: "pending,assigned,running" },
  attach: { status: "pending,assigned,running" },
  retry: { status: "failed,dead" },
  result: { status: "completed" },
  diff: { type: "delegate" },
  apply: { type: "delegate", status: "completed" },
};

/** Tables show the end of an id, so that is completed first; a word that begins like a whole id becomes one. */
async function jobIds(context: CliContext, command: Command, current: string): Promise<string[]> {
  const filter = filters[command.name()] ?? {};
  const jobs = await newest(context, command, filter);
  const short = jobs.map(({ job_id }) => shortId(job_id)).filter((id) => id.startsWith(current));
  if (short.length > 0) return short;
  const whole = jobs.map(({ job_id }) => job_id).filter((id) => id.startsWith(current));
  if (whole.length > 0 || current.length < idPartMin) return whole;
  return (await newest(context, command, { ...filter, id: current })).map(({ job_id }) => job_id);
}

/** Operators see every queue, everybody else the types of their own jobs. */
async function types(context: CliContext, command: Command): Promise<string[]> {
  if (context.program === "writ") {
    return askWrit(context, command, async ({ fleet }) => (await fleet.queues()).map(({ type }) => type));
  }
  return (await newest(context, command, {})).map(({ type }) => type);
}

function newest(context: CliContext, command: Command, filter: RpcListFilter): Promise<RpcJob[]> {
  return withJobs(
    context,
    command,
    async (jobs) => (await jobs.listPage(filter, { pageSize: newestJobs })).jobs,
  );
}
