import { routes } from "../../contract/routes.ts";
import { callHub } from "./call-hub.ts";
import { useQuery } from "./use-query.ts";

/** The tenants that a person administers, with their quotas and what they use of them. */
export function useTenants(maySee: boolean) {
  const load = async () => (maySee ? (await callHub(routes.listQuotas, {})).body : []);
  return useQuery(maySee ? "quotas" : "no quotas", load, { everyMs: 5_000 });
}
