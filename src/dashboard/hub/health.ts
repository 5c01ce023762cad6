import { useQuery } from "./use-query.ts";

type Health = {
  status: string;
  version: string;
  lockdown?: { reason: string; since: number };
};

/** The hub's version changes only with a restart, which also opens a new stream. */
const everyMs = 60_000;

/** The hub's health, which needs no token. */
export function useHealth(): Health | undefined {
  return useQuery("health", loadHealth, { everyMs }).data;
}

async function loadHealth(): Promise<Health> {
  const response = await fetch("/healthz", { cache: "no-store" });
  return (await response.json()) as Health;
}
