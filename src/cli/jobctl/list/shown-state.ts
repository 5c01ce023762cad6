import type { RpcJob } from "../../../client/index.ts";

/** A job whose time has not come waits for nothing else, unlike one that is queued. One that was claimed has no `scheduled_at`. */
export function shownState({ state, scheduled_at: at }: RpcJob, nowMs: number): string {
  return state === "QUEUED" && at !== null && at > nowMs ? "SCHEDULED" : state;
}
