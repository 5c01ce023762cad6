import { type Allowance, type BudgetPart, budgetParts, spentOf } from "../../core/agents/agent-budget.ts";
import type { AgentUse } from "../../core/agents/agent-use.ts";
import { notStarted } from "../../core/jobs/failure.ts";
import { formatCost } from "../../core/text/format-cost.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import { type RunContext, RunFailure, type RunOutcome } from "../runner.ts";
import type { AgentEntry } from "./delegate-settings.ts";
import { measuredBy } from "./protocols/protocol.ts";

/** What other jobs of the tenant spend meanwhile is asked for this often. */
const askAgainMs = 5_000;

const limiters = { job: "the budget of the job", tenant: "what its tenant may use in one day" } as const;
/** How much an attempt may report, by who limits it. */
type Allowances = { job?: Allowance; tenant?: Allowance };

/**
 * What an agent may use: it is stopped as soon as it reports more. Null if nothing limits it; an outcome if it must not be
 * started. Throws a RunFailure if its protocol does not tell what is limited. Why: ADR 0145.
 */
export async function readLimits(
  clock: Clock,
  context: Pick<RunContext, "readAllowance" | "document">,
  entry: AgentEntry,
): Promise<AgentLimits | RunOutcome | null> {
  const { readAllowance } = context;
  if (readAllowance === undefined) return null;
  let allowances: Allowances;
  try {
    allowances = await readAllowance();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "released", reason: `${notStarted}: the hub did not tell what is left to use: ${why}` };
  }
  if (allowances.job === undefined && allowances.tenant === undefined) return null;
  for (const who of ["job", "tenant"] as const) refuseUnmeasured(entry, who, allowances[who] ?? {});
  const limits = new AgentLimits(clock, allowances, readAllowance);
  return limits.isUsedUp ? limits.outcome() : limits;
}

function refuseUnmeasured(entry: AgentEntry, who: keyof Allowances, allowance: Allowance): void {
  const { name, protocol = "text" } = entry;
  const measured = entry.command === undefined ? [] : measuredBy[protocol];
  const part = budgetParts.find((one) => allowance[one] !== undefined && !measured.includes(one));
  if (part === undefined) return;
  const tells = measured.length === 0 ? "nothing" : measured.join(" and ");
  const reason = `${limiters[who]} limits ${part}, which the agent ${name} does not tell: its protocol ${protocol} tells ${tells}`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

/** Compares what an agent reports with what it may use, and aborts its signal. */
export class AgentLimits {
  readonly #clock: Clock;
  readonly #ask: () => Promise<Allowances>;
  readonly #over = new AbortController();
  #allowances: Allowances;
  #use: AgentUse | undefined;
  #reason = "";
  #timer: Timer | undefined;
  #isOver = false;

  constructor(clock: Clock, allowances: Allowances, ask: () => Promise<Allowances>) {
    this.#clock = clock;
    this.#allowances = allowances;
    this.#ask = ask;
    this.#reason = reasonOf(allowances, (spent, most, part) => part !== "tool_calls" && spent >= most);
  }

  /** Whether nothing was left before the agent began. */
  get isUsedUp(): boolean {
    return this.#reason !== "";
  }

  /** Aborted with "budget" when the agent has used more than it may. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  note(use: AgentUse): void {
    this.#use = use;
    this.#look();
  }

  /** Until `close`. Only what a tenant may use changes while a job runs. */
  watch(): void {
    if (this.#allowances.tenant === undefined || this.#isOver) return;
    this.#timer = this.#clock.setTimer(() => void this.#askAgain(), askAgainMs);
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  outcome(): RunOutcome & { kind: "failed" } {
    const reason = `${this.#reason}; what it has done so far is kept`;
    return { kind: "failed", code: "EXECUTION_ERROR", detail: "BUDGET_EXCEEDED", isFinal: true, reason };
  }

  async #askAgain(): Promise<void> {
    try {
      this.#allowances = await this.#ask();
      this.#look();
    } catch {
      // The hub is away, or the lease is lost: what was known last holds.
    }
    this.watch();
  }

  #look(): void {
    if (this.signal.aborted || this.#use === undefined) return;
    this.#reason = reasonOf(this.#allowances, (spent, most) => spent > most, this.#use);
    if (this.#reason !== "") this.#over.abort("budget");
  }
}

/** Empty if nothing is over. */
function reasonOf(
  allowances: Allowances,
  isOver: (spent: number, most: number, part: BudgetPart) => boolean,
  use?: AgentUse,
): string {
  const spent = spentOf(use);
  for (const who of ["job", "tenant"] as const)
    for (const part of budgetParts) {
      const most = allowances[who]?.[part];
      if (most === undefined || !isOver(spent[part], most, part)) continue;
      const used = `the agent reported ${amount(part, spent[part])} in this attempt`;
      return `${used}, and ${limiters[who]} left ${amount(part, most)}`;
    }
  return "";
}

function amount(part: BudgetPart, value: number): string {
  if (part === "usd") return formatCost(value / 1e6);
  return `${value} ${part === "tokens" ? "tokens" : "calls of tools"}`;
}
