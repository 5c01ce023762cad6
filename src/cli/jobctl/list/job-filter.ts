import { type Command, Option } from "commander";
import type { RpcListFilter } from "../../../client/jobs/jobs.ts";
import { WritError } from "../../../core/errors.ts";
import { type GrpcState, grpcStates } from "../../../core/jobs/state-names.ts";
import { pastMoment } from "../../program.ts";

export type FilterFlags = {
  state?: string;
  failed?: boolean;
  dead?: boolean;
  type?: string;
  worker?: string;
  user?: string;
  since?: number;
  until?: number;
  search?: string;
  label?: string;
  schedule?: string;
};

/** The options that say which jobs are meant, apart from their states. */
export function addFilterOptions(command: Command): void {
  command
    .option("--type <type>", "only jobs of this type; with * at its end, of all types that begin so")
    .option("--worker <id>", "only jobs that this worker ran or is running")
    .option("--label <label>", "only jobs with this label")
    .option("--schedule <name>", "only jobs that this schedule made")
    .option("--user <name>", "only jobs of this user")
    .option("--since <time>", "only jobs created after this date, or within this time (2h, 7d)", pastMoment)
    .option("--until <time>", "only jobs created before this date, or longer ago than this", pastMoment)
    .option("--search <text>", "only jobs with this text in their id, their type or a word of their command");
}

export function addStateOptions(command: Command): void {
  const states = grpcStates.map((state) => state.toLowerCase());
  command
    .addOption(new Option("--state <state>", "only jobs in this state").choices(states))
    .option("--failed", "only jobs that did not succeed, dead letters included; not those that were stopped")
    .option("--dead", "only dead letters: jobs that have failed in every attempt");
}

export function jobFilter(flags: FilterFlags): RpcListFilter {
  const { type, worker, user, since, until, search, label, schedule } = flags;
  return { ...stateFilter(flags), type, worker, user, since, until, search, label, schedule };
}

function stateFilter({ state, failed, dead }: FilterFlags): RpcListFilter {
  const given = [state && "--state", failed && "--failed", dead && "--dead"].filter(Boolean);
  if (given.length > 1) {
    throw new WritError("INVALID_ARGUMENT", `${given.join(" and ")}: give only one of them`);
  }
  if (dead) return { status: "dead" };
  if (failed) return { status: "failed,dead", failCode: "!CANCELLED" };
  return { state: state?.toUpperCase() as GrpcState | undefined };
}
