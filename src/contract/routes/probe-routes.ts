import { z } from "zod";
import { route } from "./route.ts";

/** What monitoring asks for. It is served below /api/v1, /api and the root of the hub's address. */
const healthView = z.object({
  status: z.string().meta({ examples: ["ok", "locked", "store unavailable"] }),
  code: z.string().optional().describe("The code of what is wrong; only with 503"),
  reason: z.string().optional().describe("What is wrong, in a sentence; only with 503"),
  version: z.string(),
  schema_version: z.int().optional(),
  lockdown: z.object({ reason: z.string(), since: z.int() }).optional(),
  database: z.enum(["sqlite", "postgresql"]).optional(),
  hubs: z.int().optional().describe("How many hubs serve the same database, with this one"),
  leader: z.boolean().optional().describe("Whether this hub does what only one of them may do"),
  mqtt: z
    .enum(["connected", "away", "refused"])
    .optional()
    .describe("Whether events reach the MQTT broker; only with one"),
});

export type HealthView = z.infer<typeof healthView>;

const health = {
  200: { description: "The hub answers calls", shape: healthView },
  503: { description: "The database cannot be used, or does not answer within 3 seconds", shape: healthView },
} as const;

export const probeRoutes = {
  getHealth: route({
    method: "GET",
    path: "/healthz",
    who: "open",
    summary: "Show whether the hub works, and whether it is locked",
    answers: health,
  }),
  getReadiness: route({
    method: "GET",
    path: "/readyz",
    who: "open",
    summary: "The same, for load balancers",
    answers: health,
  }),
  getMetrics: route({
    method: "GET",
    path: "/metrics",
    who: ["viewer"],
    summary: "Read the metrics as Prometheus text",
    answers: { 200: { description: "Metrics", type: "text/plain; version=0.0.4; charset=utf-8" } },
  }),
} as const;
