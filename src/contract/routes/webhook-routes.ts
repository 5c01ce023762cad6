import { z } from "zod";
import { orderList, orderParams, tenantQuery } from "../shapes/schedule-shapes.ts";
import * as shapes from "../shapes/webhook-shapes.ts";
import { nextCursor, route } from "./route.ts";

const admin = [] as const;
const webhook = { description: "The webhook", shape: shapes.webhookView };
const named = { params: orderParams, query: tenantQuery } as const;

export const webhookRoutes = {
  putWebhook: route({
    method: "PUT",
    path: "/webhooks/:name",
    who: admin,
    summary: "Create a webhook, change it, or enable it again; the same again changes nothing",
    ...named,
    body: shapes.webhookBody,
    answers: { 200: webhook, 201: { ...webhook, description: "The webhook, with its secret" } },
  }),
  getWebhook: route({
    method: "GET",
    path: "/webhooks/:name",
    who: admin,
    summary: "Read a webhook: how far it has come, and what it could not deliver",
    ...named,
    answers: { 200: webhook },
  }),
  listWebhooks: route({
    method: "GET",
    path: "/webhooks",
    who: admin,
    summary: "List the webhooks of the tenant; for an administrator of the hub, those of all",
    query: orderList,
    answers: { 200: { description: "Webhooks", shape: z.array(shapes.webhookView), headers: nextCursor } },
  }),
  removeWebhook: route({
    method: "DELETE",
    path: "/webhooks/:name",
    who: admin,
    summary: "Remove a webhook",
    ...named,
    answers: { 204: { description: "Done" } },
  }),
  rotateWebhook: route({
    method: "POST",
    path: "/webhooks/:name/rotate",
    who: admin,
    summary: "Make a new secret; messages are signed with both for a day",
    ...named,
    body: z.strictObject({}).optional(),
    answers: { 200: { ...webhook, description: "The webhook, with its new secret" } },
  }),
  redeliverWebhook: route({
    method: "POST",
    mayRepeat: true,
    path: "/webhooks/:name/redeliver",
    who: admin,
    summary: "Send the events of the log again from this one on; enables a webhook that was disabled",
    ...named,
    body: shapes.redeliverBody,
    answers: { 200: webhook },
  }),
} as const;
