import { routes } from "../../contract/routes/routes.ts";
import type { LockdownView } from "../../contract/shapes/audit-shapes.ts";
import { callHub } from "./call-hub.ts";
import { Store, useStore } from "./store.ts";
import { useQuery } from "./use-query.ts";

/** The stream tells those who administer the hub at once; others ask. */
const everyMs = 15_000;
/** Counts the changes made here, so that everybody who shows the lockdown reads it again at once. */
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
  return (await callHub(routes.getLockdown, {})).body;
}
