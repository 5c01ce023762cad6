import type { Route } from "../../../contract/routes/route.ts";

type Group = { name: string; description: string; has: (route: Route) => boolean };

/** The parts of the reference, in order. A route belongs to the first part that matches it. */
const groups: readonly Group[] = [
  {
    name: "Worker protocol",
    description: "What a worker calls: register, claim, renew, report.",
    has: ({ who }) => Array.isArray(who) && who.length === 1 && who[0] === "worker",
  },
  {
    name: "Jobs",
    description: "Submit, list, follow, cancel and explain jobs, and read their output.",
    has: ({ path }) => /^\/jobs\b/.test(path),
  },
  {
    name: "Schedules",
    description: "Jobs that the hub submits again and again.",
    has: ({ path }) => /^\/schedules\b/.test(path),
  },
  {
    name: "Webhooks",
    description: "Addresses that the hub calls when something happens to jobs.",
    has: ({ path }) => /^\/webhooks\b/.test(path),
  },
  {
    name: "Hooks",
    description: "Addresses that other programs call, so that the hub makes a job.",
    has: ({ path }) => /^\/hooks\b/.test(path),
  },
  {
    name: "Files",
    description: "Put and get files, and what a job calls with its own token.",
    has: ({ path }) => /^\/(?:files|objects|docker)\b/.test(path),
  },
  {
    name: "Fleet",
    description: "The workers: see them, block, drain and remove them.",
    has: ({ path }) => /^\/workers\b/.test(path),
  },
  {
    name: "Queues and quotas",
    description: "Waiting jobs by type, and how much a tenant may use.",
    has: ({ path }) => /^\/(?:queues|lanes|quotas|tenants|stats)\b/.test(path),
  },
  {
    name: "Tokens and sessions",
    description: "Tokens, and the session of a browser.",
    has: ({ path }) => /^\/(?:tokens|session|certs)\b/.test(path),
  },
  {
    name: "Signing keys",
    description: "The public keys that sign documents and leases.",
    has: ({ path }) => /^\/keys\b/.test(path),
  },
  {
    name: "Audit and lockdown",
    description: "The audit trail, and stopping all claims.",
    has: ({ path }) => /^\/(?:audit|lockdown)\b/.test(path),
  },
  {
    name: "Settings",
    description: "What the hub runs with.",
    has: ({ path }) => /^\/(?:settings|hubs)\b/.test(path),
  },
  {
    name: "Monitoring",
    description: "Health and metrics. Also served at the root of the hub's address.",
    has: ({ path }) => /^\/(?:healthz|readyz|metrics)\b/.test(path),
  },
];

export function groupOf(route: Route): string {
  return groups.find(({ has }) => has(route))?.name ?? "Other";
}

/** In the order of the page, with the parts that most readers need first. */
export function tagsOf(used: readonly string[]): { name: string; description: string }[] {
  const [protocol, ...rest] = groups;
  return [...rest, protocol!, other]
    .filter(({ name }) => used.includes(name))
    .map(({ name, description }) => ({ name, description }));
}

const other = { name: "Other", description: "Further routes." };
