import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub } from "./call-hub.ts";
import { useQuery } from "./use-query.ts";

/** The tenants that a person administers, with their quotas and what they use of them. */
export function useTenants(maySee: boolean) {
  return useQuery(maySee ? "quotas" : "no quotas", maySee ? readQuotas : async () => [], {
    everyMs: 30_000,
    whenMs: 5_000,
    when: ({ events, parts }) => events.size > 0 || parts.has("queues"),
  });
}

async function readQuotas() {
  const { body } = await callHub(pageRoutes.listQuotas, {});
  return [...body].sort((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1));
}
