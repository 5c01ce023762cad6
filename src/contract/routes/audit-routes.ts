import { z } from "zod";
import {
  auditCheckView,
  auditQuery,
  auditView,
  lockdownQuery,
  lockdownRequest,
  lockdownView,
} from "../shapes/audit-shapes.ts";
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
  verifyAudit: route({
    method: "POST",
    mayRepeat: true,
    path: "/audit/verify",
    who: admin,
    summary: "Start a check of the whole audit trail, unless one runs; GET shows its progress",
    body: z.strictObject({}).optional(),
    answers: { 202: { description: "The check", shape: auditCheckView } },
  }),
  getAuditCheck: route({
    method: "GET",
    path: "/audit/verify",
    who: admin,
    summary: "Show the last check of the audit trail that this hub was asked for",
    answers: { 200: { description: "The check", shape: auditCheckView } },
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
    mayRepeat: true,
    path: "/lockdown",
    who: admin,
    summary:
      "Lock the hub: no claims, all workers offline; their jobs wait again, or fail if their only attempt had begun",
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
