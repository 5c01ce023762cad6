import { z } from "zod";
import { auditQuery, auditView, lockdownQuery, lockdownRequest, lockdownView } from "./audit-shapes.ts";
import { nextCursor, route } from "./route.ts";

const admin = [] as const;
const done = { description: "Done" };

export const auditRoutes = {
  searchAudit: route({
    method: "GET",
    path: "/audit",
    who: admin,
    summary: "Search the audit trail, newest first; the next page is in X-Next-Cursor",
    query: auditQuery,
    answers: { 200: { description: "Records", shape: z.array(auditView), headers: nextCursor } },
  }),
  getLockdown: route({
    method: "GET",
    path: "/lockdown",
    who: ["user", "worker", "viewer"],
    summary: "Show whether the hub is locked, and why",
    answers: { 200: { description: "The state", shape: lockdownView } },
  }),
  lockDown: route({
    method: "POST",
    path: "/lockdown",
    who: admin,
    summary: "Lock the hub: no claims, all workers offline, and their jobs pending again",
    body: lockdownRequest,
    answers: { 204: done },
  }),
  liftLockdown: route({
    method: "DELETE",
    path: "/lockdown",
    who: admin,
    summary: "Lift the lockdown of the hub, or with tenant_id that of one tenant",
    query: lockdownQuery,
    answers: { 204: done },
  }),
} as const;
