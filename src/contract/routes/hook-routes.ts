import { z } from "zod";
import * as shapes from "../shapes/hook-shapes.ts";
import { orderList, orderParams, tenantQuery } from "../shapes/schedule-shapes.ts";
import { nextCursor, route } from "./route.ts";

const user = ["user"] as const;
const reader = ["user", "viewer"] as const;
const hook = { description: "The hook", shape: shapes.hookView };
const named = { params: orderParams, query: tenantQuery } as const;

/** What a delivery may have. */
const deliveryBytesMax = 256 * 1024;

export const hookRoutes = {
  putHook: route({
    method: "PUT",
    path: "/hooks/:name",
    who: user,
    summary: "Create or change a hook; the same again changes nothing",
    ...named,
    body: shapes.hookBody,
    answers: { 200: hook, 201: { ...hook, description: "The hook, with its secret" } },
  }),
  getHook: route({
    method: "GET",
    path: "/hooks/:name",
    who: reader,
    summary: "Read a hook",
    ...named,
    answers: { 200: hook },
  }),
  listHooks: route({
    method: "GET",
    path: "/hooks",
    who: reader,
    summary: "List the caller's hooks; an administrator's list has those of the tenant",
    query: orderList,
    answers: { 200: { description: "Hooks", shape: z.array(shapes.hookView), headers: nextCursor } },
  }),
  removeHook: route({
    method: "DELETE",
    path: "/hooks/:name",
    who: user,
    summary: "Remove a hook; its jobs stay",
    ...named,
    answers: { 204: { description: "Done" } },
  }),
  receiveDelivery: route({
    method: "POST",
    mayRepeat: true,
    path: "/hooks/:tenant/:name",
    who: "open",
    summary:
      "Make the job of a hook; the body is its input, and the signature says that the sender may do so",
    params: shapes.deliveryParams,
    bodyKind: "bytes",
    bodyBytesMax: deliveryBytesMax,
    answers: {
      202: { description: "The job; a repeated delivery has the first", shape: shapes.deliveryView },
      403: { description: "PERMISSION_DENIED: the owner of the hook may no longer submit jobs" },
    },
  }),
} as const;
