import { useQuery } from "./use-query.ts";

type Health = {
  status: string;
  version: string;
  lockdown?: { reason: string; since: number };
};

/** Its version changes only with a restart, and then the stream is opened anew. */
const everyMs = 60_000;

/** What the hub says of itself to everybody. */
export function useHealth(): Health | undefined {
  return useQuery("health", loadHealth, { everyMs }).data;
}

async function loadHealth(): Promise<Health> {
  const response = await fetch("/healthz", { cache: "no-store" });
  return (await response.json()) as Health;
}
