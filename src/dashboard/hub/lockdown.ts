import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { LockdownView } from "../../contract/shapes/audit-shapes.ts";
import { callHub } from "./call-hub.ts";
import { Store, useStore } from "./store.ts";
import { useQuery } from "./use-query.ts";

/** For persons who do not administer the hub: the stream tells only administrators of a change. */
const everyMs = 15_000;
/** Counts the changes made here, so that every component that shows the lockdown reads it again at once. */
const changes = new Store(0);

/** Whether the hub is locked, and which tenants, as far as the person may know. */
export function useLockdown(): LockdownView | undefined {
  return useQuery(`lockdown ${useStore(changes)}`, readLockdown, {
    everyMs,
    when: ({ parts }) => parts.has("lockdown"),
  }).data;
}

export function reloadLockdown(): void {
  changes.set(changes.get() + 1);
}

async function readLockdown(): Promise<LockdownView> {
  return (await callHub(pageRoutes.getLockdown, {})).body;
}
