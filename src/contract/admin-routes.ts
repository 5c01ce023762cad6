import { z } from "zod";
import * as shapes from "./admin-shapes.ts";
import { jobType, keyId, tenantId, text, workerId } from "./fields.ts";
import { route } from "./route.ts";
import { identityView, keysView, keyView, tokenView, workerView } from "./view-shapes.ts";

const admin = [] as const;
const anyone = ["user", "worker", "viewer"] as const;
const workerParams = z.strictObject({ id: workerId });
const tenantParams = z.strictObject({ id: tenantId });
const noBody = z.strictObject({}).optional();
const worker = { description: "The worker", shape: workerView };
const done = { description: "Done" };

export const adminRoutes = {
  listWorkers: route({
    method: "GET",
    path: "/workers",
    who: ["viewer"],
    summary: "The fleet",
    answers: { 200: { description: "Workers", shape: z.array(workerView) } },
  }),
  getWorker: route({
    method: "GET",
    path: "/workers/:id",
    who: ["viewer"],
    summary: "One worker",
    params: workerParams,
    answers: { 200: worker },
  }),
  blockWorker: route({
    method: "POST",
    path: "/workers/:id/block",
    who: admin,
    summary: "Give a worker no more jobs and refuse what it reports",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  unblockWorker: route({
    method: "POST",
    path: "/workers/:id/unblock",
    who: admin,
    summary: "Lift a block or a drain",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  drainWorker: route({
    method: "POST",
    path: "/workers/:id/drain",
    who: admin,
    summary: "Let a worker finish what it has and claim nothing more",
    params: workerParams,
    body: noBody,
    answers: { 200: worker },
  }),
  removeWorker: route({
    method: "DELETE",
    path: "/workers/:id",
    who: ["worker"],
    summary: "Forget a worker; also by the worker itself on a clean stop",
    params: workerParams,
    answers: { 204: done },
  }),
  createSession: route({
    method: "POST",
    path: "/session",
    who: "open",
    summary: "Log in: the token comes in the body or as bearer, a session cookie comes back",
    body: shapes.sessionRequest,
    answers: { 200: { description: "Who you are", shape: identityView } },
  }),
  getSession: route({
    method: "GET",
    path: "/session",
    who: anyone,
    summary: "Who am I",
    answers: { 200: { description: "Who you are", shape: identityView } },
  }),
  removeSession: route({
    method: "DELETE",
    path: "/session",
    who: anyone,
    summary: "Log out",
    answers: { 204: done },
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
    summary: "Exchange the calling token for a new one; the old one ends",
    body: shapes.refreshRequest.optional(),
    answers: { 201: { description: "The new token", shape: shapes.tokenAnswer } },
  }),
  listTokens: route({
    method: "GET",
    path: "/tokens",
    who: admin,
    summary: "All tokens, without their secrets",
    answers: { 200: { description: "Tokens", shape: z.array(tokenView) } },
  }),
  revokeToken: route({
    method: "DELETE",
    path: "/tokens/:id",
    who: admin,
    summary: "End a token at once",
    params: z.strictObject({ id: text(1, 100) }),
    answers: { 204: done },
  }),
  listKeys: route({
    method: "GET",
    path: "/keys",
    who: anyone,
    summary: "The public keys that jobs are signed with",
    answers: { 200: { description: "Keys", shape: keysView } },
  }),
  rotateKeys: route({
    method: "POST",
    path: "/keys/rotate",
    who: admin,
    summary:
      "Make a new signing key; the old one signs on beside it for 14 days, in an emergency for the notice only",
    body: shapes.rotateRequest.optional(),
    answers: { 200: { description: "The new key", shape: keyView } },
  }),
  revokeKey: route({
    method: "POST",
    path: "/keys/:id/revoke",
    who: admin,
    summary: "End a key that was replaced; with `now` what was leased with it is void",
    params: z.strictObject({ id: keyId }),
    body: shapes.revokeRequest.optional(),
    answers: {
      200: { description: "The key", shape: keyView },
      409: { description: "It is the key that signs now" },
    },
  }),
  getQuota: route({
    method: "GET",
    path: "/tenants/:id/quota",
    who: admin,
    summary: "What a tenant may use",
    params: tenantParams,
    answers: { 200: { description: "The quota", shape: shapes.quota } },
  }),
  putQuota: route({
    method: "PUT",
    path: "/tenants/:id/quota",
    who: admin,
    summary: "Set what a tenant may use; what is left out is not limited",
    params: tenantParams,
    body: shapes.quota,
    answers: { 200: { description: "The quota", shape: shapes.quota } },
  }),
  listQueues: route({
    method: "GET",
    path: "/queues",
    who: admin,
    summary: "What waits and runs, by tenant and type",
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
} as const;
