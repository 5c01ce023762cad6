import { z } from "zod";
import * as shapes from "../shapes/schedule-shapes.ts";
import { nextCursor, route } from "./route.ts";

const user = ["user"] as const;
const reader = ["user", "viewer"] as const;
const noBody = z.strictObject({}).optional();
const schedule = { description: "The schedule, with its next times", shape: shapes.scheduleView };
const named = { params: shapes.orderParams, query: shapes.tenantQuery } as const;

export const scheduleRoutes = {
  putSchedule: route({
    method: "PUT",
    path: "/schedules/:name",
    who: user,
    summary: "Create or change a schedule; the same again changes nothing, and a new timing begins now",
    ...named,
    body: shapes.scheduleBody,
    answers: { 200: schedule, 201: schedule },
  }),
  getSchedule: route({
    method: "GET",
    path: "/schedules/:name",
    who: reader,
    summary: "Read a schedule, with its next times and its last occurrences",
    ...named,
    answers: { 200: schedule },
  }),
  listSchedules: route({
    method: "GET",
    path: "/schedules",
    who: reader,
    summary: "List the caller's schedules; an administrator's list has those of the tenant",
    query: shapes.orderList,
    answers: { 200: { description: "Schedules", shape: z.array(shapes.scheduleView), headers: nextCursor } },
  }),
  removeSchedule: route({
    method: "DELETE",
    path: "/schedules/:name",
    who: user,
    summary: "Remove a schedule; its jobs stay",
    ...named,
    answers: { 204: { description: "Done" } },
  }),
  pauseSchedule: route({
    method: "POST",
    mayRepeat: true,
    path: "/schedules/:name/pause",
    who: user,
    summary: "Make no more jobs; what would have been due meanwhile is not caught up",
    ...named,
    body: noBody,
    answers: { 200: schedule },
  }),
  resumeSchedule: route({
    method: "POST",
    mayRepeat: true,
    path: "/schedules/:name/resume",
    who: user,
    summary: "End a pause",
    ...named,
    body: noBody,
    answers: { 200: schedule },
  }),
  runSchedule: route({
    method: "POST",
    path: "/schedules/:name/run",
    who: user,
    summary: "Make a job now, beside those of the clock",
    ...named,
    body: noBody,
    answers: {
      201: { description: "The job", shape: shapes.firedView },
      409: { description: "STATE_CONFLICT: the job before has not ended, and `overlap` is not `allow`" },
    },
  }),
  backfillSchedule: route({
    method: "POST",
    path: "/schedules/:name/backfill",
    who: user,
    summary: "Make the jobs of past occurrences, at most 1,000, that have made none",
    ...named,
    body: shapes.backfillBody,
    answers: { 200: { description: "How many wait for a job now", shape: shapes.backfillView } },
  }),
} as const;
