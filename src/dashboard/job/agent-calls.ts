import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import { formatCost } from "../../core/text/format-cost.ts";
import { countText, plural } from "../parts/format.ts";

/** One call of a coding agent, as its newest event tells it. */
export type ShownCall = {
  call: number;
  tool: string;
  title: string;
  path: string | undefined;
  status: string;
  ts: number;
};

/** The calls of the latest attempt, in their order. An event of a newer hub may have less, or more. */
export function callsOf(job: Pick<JobView, "attempt">, events: readonly EventView[]): ShownCall[] {
  const calls = new Map<number, ShownCall>();
  for (const { event, ts, details } of events) {
    if (event !== "JOB_AGENT" || details["attempt"] !== job.attempt) continue;
    const { call, tool, title, path, call_status: status } = details;
    if (typeof call !== "number" || typeof tool !== "string") continue;
    calls.set(call, {
      call,
      tool,
      title: typeof title === "string" ? title : "",
      path: typeof path === "string" ? path : undefined,
      status: String(status),
      ts: calls.get(call)?.ts ?? ts,
    });
  }
  return [...calls.values()].sort((one, other) => one.call - other.call);
}

/** Whether every word of a search is in the call. */
export function isFound({ tool, title, path = "", status }: ShownCall, words: string): boolean {
  const text = `${tool} ${title} ${path} ${status}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function isEdit({ tool }: Pick<ShownCall, "tool">): boolean {
  return /edit|write|replace|patch|create/i.test(tool);
}

/** The part of a diff that is about one file; undefined if it is not in there. */
export function diffOf(diff: string, path: string): string | undefined {
  const parts = diff.split(/^(?=diff --git )/m);
  return parts.find((part) => part.slice(0, part.indexOf("\n")).endsWith(` b/${path}`));
}

/** What the agent reports of itself in one line. */
export function reportText({
  tool_calls,
  denied,
  tokens_in,
  tokens_out,
  cost_usd,
}: NonNullable<JobView["agent"]>): string {
  return [
    plural(tool_calls, "call"),
    denied === 0 ? "" : `${countText(denied)} refused`,
    tokens_in + tokens_out === 0 ? "" : `${countText(tokens_in)} tokens in, ${countText(tokens_out)} out`,
    cost_usd === undefined ? "" : formatCost(cost_usd),
  ]
    .filter((part) => part !== "")
    .join(" · ");
}
