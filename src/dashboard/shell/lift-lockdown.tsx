import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { reloadLockdown } from "../hub/lockdown.ts";
import { askFirst } from "./confirm.tsx";
import { asksForHub } from "./hub-name.ts";
import { showToast } from "./toasts.tsx";

/** Asks to lift the lockdown of a tenant, or of the hub if `tenantId` is null. */
export function askToLift(tenantId: string | null): void {
  askFirst({
    title: tenantId === null ? "Lift the lockdown?" : `Lift the lockdown of ${tenantId}?`,
    body: (
      <p>
        {tenantId === null
          ? "Workers may claim again. Jobs that wait start as slots become free."
          : `Jobs of ${tenantId} are given out again. Find out first why it was locked.`}
      </p>
    ),
    ...(tenantId === null ? { typed: asksForHub } : {}),
    acts: [
      {
        label: "Lift it",
        tone: "main",
        run: async () => {
          await callHub(pageRoutes.liftLockdown, { query: tenantId === null ? {} : { tenant_id: tenantId } });
          reloadLockdown();
          showToast({ icon: "check", text: "The lockdown is lifted", note: "Recorded in the audit trail." });
        },
      },
    ],
  });
}
