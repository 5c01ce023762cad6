import { z } from "zod";
import * as shapes from "../shapes/admin-shapes.ts";
import { certSerial, jobType, keyId, queryInteger, tenantId, text, workerId } from "../shapes/fields.ts";
import { certView, identityView, keysView, keyView, tokenView } from "../shapes/trust-view-shapes.ts";
import { bootId } from "../shapes/worker-shapes.ts";
import { workerView } from "../shapes/worker-view.ts";
import { route } from "./route.ts";

const admin = [] as const;
const anyone = ["user", "worker", "viewer"] as const;
const workerParams = z.strictObject({ id: workerId });
const tenantParams = z.strictObject({ id: tenantId });
const noBody = z.strictObject({}).optional();
const worker = { description: "The worker", shape: workerView };
const done = { description: "Done" };
/** A worker reports every ten seconds, and what is older than an hour is not kept. */
const samplesMax = 360;
const sessionCookie = { "Set-Cookie": "`writ_session_ID`, with an ID of the hub's own" } as const;

export const adminRoutes = {
  listWorkers: route({
    method: "GET",
    path: "/workers",
    who: ["viewer"],
    summary: "List the workers; with samples, only so many measurements of each, evenly from the last hour",
    query: z.strictObject({ samples: queryInteger(0, samplesMax).optional() }),
    answers: { 200: { description: "Workers", shape: z.array(workerView) } },
  }),
  getWorker: route({
    method: "GET",
    path: "/workers/:id",
    who: ["viewer"],
    summary: "Read one worker",
    params: workerParams,
    answers: { 200: worker },
  }),
  blockWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/block",
    who: admin,
    summary: "Give a worker no more jobs, and refuse its reports",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  unblockWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/unblock",
    who: admin,
    summary: "End a block or a drain",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  drainWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/drain",
    who: admin,
    summary: "Let a worker finish its jobs and claim no more",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  undrainWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/undrain",
    who: admin,
    summary: "End a drain",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  removeWorker: route({
    method: "DELETE",
    path: "/workers/:id",
    who: ["worker"],
    summary: "Remove a worker; a worker removes itself on a clean stop",
    params: workerParams,
    query: z.strictObject({ boot_id: bootId.optional() }),
    answers: {
      204: done,
      409: { description: "WORKER_REPLACED: a process other than the one that `boot_id` names has the name" },
    },
  }),
  createSession: route({
    method: "POST",
    path: "/session",
    who: "open",
    summary:
      "Log in with a token, in the body or as a bearer token, or with a code; returns a session cookie",
    body: shapes.sessionRequest,
    answers: {
      200: { description: "The caller", shape: identityView, headers: sessionCookie },
      403: { description: "The token stands for a certificate" },
    },
  }),
  createLoginCode: route({
    method: "POST",
    mayRepeat: true,
    path: "/session/code",
    who: anyone,
    summary: "Issue a code that logs a browser in as the caller, once and within 60 seconds",
    body: noBody,
    answers: {
      201: { description: "The code", shape: shapes.loginCode },
      403: { description: "The token stands for a certificate" },
    },
  }),
  getSession: route({
    method: "GET",
    path: "/session",
    who: anyone,
    summary: "Show who the caller is",
    answers: { 200: { description: "The caller", shape: identityView } },
  }),
  removeSession: route({
    method: "DELETE",
    path: "/session",
    who: anyone,
    summary: "Log out",
    answers: { 204: { ...done, headers: sessionCookie } },
  }),
  createToken: route({
    method: "POST",
    path: "/tokens",
    who: admin,
    summary: "Issue a token; its secret is shown once",
    body: shapes.tokenRequest,
    answers: { 201: { description: "The token", shape: shapes.tokenAnswer } },
  }),
  refreshToken: route({
    method: "POST",
    path: "/tokens/refresh",
    who: anyone,
    summary: "Exchange the caller's token for a new one; the old one becomes invalid",
    body: shapes.refreshRequest.optional(),
    answers: {
      201: { description: "The new token", shape: shapes.tokenAnswer },
      409: { description: "The token stands for a certificate" },
    },
  }),
  listTokens: route({
    method: "GET",
    path: "/tokens",
    who: admin,
    summary: "List all tokens, without their secrets",
    answers: { 200: { description: "Tokens", shape: z.array(tokenView) } },
  }),
  revokeToken: route({
    method: "DELETE",
    path: "/tokens/:id",
    who: admin,
    summary: "Revoke a token at once",
    params: z.strictObject({ id: text(1, 100) }),
    answers: { 204: done },
  }),
  listCerts: route({
    method: "GET",
    path: "/certs",
    who: admin,
    summary: "List the certificates that the hub has issued",
    answers: { 200: { description: "Certificates", shape: z.array(certView) } },
  }),
  revokeCert: route({
    method: "DELETE",
    path: "/certs/:serial",
    who: admin,
    summary: "Revoke a person's certificate at once",
    params: z.strictObject({ serial: certSerial }),
    answers: { 204: done },
  }),
  listKeys: route({
    method: "GET",
    path: "/keys",
    who: anyone,
    summary: "List the public keys that jobs are signed with",
    answers: { 200: { description: "Keys", shape: keysView } },
  }),
  rotateKeys: route({
    method: "POST",
    path: "/keys/rotate",
    who: admin,
    summary:
      "Create a new signing key; the old key also signs for 14 more days, or in an emergency only for the notice",
    body: shapes.rotateRequest.optional(),
    answers: { 200: { description: "The new key", shape: keyView } },
  }),
  revokeKey: route({
    method: "POST",
    mayRepeat: true,
    path: "/keys/:id/revoke",
    who: admin,
    summary: "Revoke a replaced key; with `now`, every lease that it signed is void",
    params: z.strictObject({ id: keyId }),
    body: shapes.revokeRequest.optional(),
    answers: {
      200: { description: "The key", shape: keyView },
      409: { description: "It is the active key" },
    },
  }),
  listQuotas: route({
    method: "GET",
    path: "/quotas",
    who: admin,
    summary: "List what each tenant that has a quota or jobs uses and may use",
    answers: { 200: { description: "Quotas", shape: z.array(shapes.tenantQuota) } },
  }),
  getQuota: route({
    method: "GET",
    path: "/tenants/:id/quota",
    who: admin,
    summary: "Read a tenant's quota",
    params: tenantParams,
    answers: { 200: { description: "The quota", shape: shapes.quota } },
  }),
  putQuota: route({
    method: "PUT",
    path: "/tenants/:id/quota",
    who: admin,
    summary: "Set a tenant's quota; what is left out is not limited",
    params: tenantParams,
    body: shapes.quota,
    answers: { 200: { description: "The quota", shape: shapes.quota } },
  }),
  listQueues: route({
    method: "GET",
    path: "/queues",
    who: admin,
    summary: "Count waiting and running jobs, by tenant and type; paused types are listed even without jobs",
    answers: { 200: { description: "Queues", shape: z.array(shapes.queueView) } },
  }),
  setQueuePaused: route({
    method: "PUT",
    path: "/queues/:type",
    who: admin,
    summary: "Pause or resume a type of job",
    params: z.strictObject({ type: jobType }),
    body: shapes.queueSetting,
    answers: { 200: { description: "The setting", shape: shapes.queueSetting } },
  }),
  listSettings: route({
    method: "GET",
    path: "/settings",
    who: admin,
    summary: "List the settings of the hub, and where each value came from; secrets are left out",
    answers: { 200: { description: "Settings", shape: z.array(shapes.shownSetting) } },
  }),
  listHubs: route({
    method: "GET",
    path: "/hubs",
    who: admin,
    summary: "List the hubs that serve the database, and which of them leads; and show what database it is",
    answers: { 200: { description: "Database and hubs", shape: shapes.hubsView } },
  }),
} as const;
