import { WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";
import { findOrder, type OrderCall } from "../orders/find-order.ts";
import { hookEvent } from "./hook-record.ts";

/** Another change came in between; the call is done again this often. */
const triesMax = 5;

export async function removeHook(deps: HubDeps, call: OrderCall & { origin: Origin }): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const order = await findOrder(deps, { ...call, kind: "hook", to: "change" });
    if (order === null) throw new WritError("NOT_FOUND", `there is no hook ${call.name}`);
    const { tenantId, name, revision } = order;
    const happened = { details: { act: "removed" }, nowMs: deps.clock.nowMs(), origin: call.origin };
    const event = hookEvent(order, { event: "HOOK_CHANGED", ...happened });
    if (await deps.store.removeOrder({ kind: "hook", tenantId, name, revision, events: [event] })) return;
  }
  throw new WritError("STATE_CONFLICT", `the hook ${call.name} was changed again and again; try again`);
}
