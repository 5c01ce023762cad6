import { z } from "zod";
import { jobDocument } from "../document.ts";
import { abilitiesHeader } from "../hub-abilities.ts";
import * as agents from "../shapes/coding-agent-shapes.ts";
import { jobId, queryInteger, text, workerId } from "../shapes/fields.ts";
import * as reports from "../shapes/report-shapes.ts";
import * as shapes from "../shapes/worker-shapes.ts";
import { outputParams } from "./job-routes.ts";
import { bodyBytes, route } from "./route.ts";

const who = ["worker"] as const;
const jobParams = z.strictObject({ id: jobId });
const workerParams = z.strictObject({ id: workerId });
const leaseLost = { description: "LEASE_LOST: another attempt has started, or the job has ended" };
const lostOrCancelled = {
  description: "LEASE_LOST, or CANCELLED once a cancel was requested: the lease is renewed, stop the job",
};
const notTaken = {
  description: "LEASE_LOST, RESULT_CONFLICT, or OUTPUT_INCOMPLETE with the sizes that the streams have",
};
const done = { description: "Done" };
const none = { description: "None" };

export const workerRoutes = {
  registerWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/register",
    who,
    summary: "Register a worker, or update its registration",
    body: shapes.workerRegistration,
    bodyBytesMax: bodyBytes.batch,
    answers: {
      204: {
        ...done,
        headers: { [abilitiesHeader]: "What the hub accepts beyond version 0.1; register again with it" },
      },
      409: { description: "The worker is registered with a different public key" },
    },
  }),
  heartbeatWorker: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/heartbeat",
    who,
    summary: "Report that the worker is alive, and renew exactly the leases listed",
    body: shapes.workerHeartbeat,
    // A worker may have 10,000 slots, and names every lease.
    bodyBytesMax: bodyBytes.batch,
    answers: { 200: { description: "The jobs to stop", shape: shapes.heartbeatAnswer } },
  }),
  saveWorkerMetrics: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/metrics",
    who,
    summary: "Report the load of the worker's machine",
    params: workerParams,
    body: shapes.workerMetrics,
    answers: { 204: done },
  }),
  streamCommands: route({
    method: "GET",
    path: "/workers/:id/commands",
    who,
    summary: "Follow the hub's commands to the worker: work, cancel, drain, keys",
    params: workerParams,
    // Workers of version 0.1 name their session here; nothing depends on it.
    query: z.strictObject({ session: text(1, 100).optional() }),
    answers: { 200: { description: "Commands", type: "text/event-stream" } },
  }),
  claimJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/claim",
    who,
    summary: "Claim one job",
    body: shapes.claimRequest,
    answers: {
      200: { description: "A leased job", shape: shapes.claimedJobBody },
      204: none,
    },
  }),
  claimJobs: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/claim-batch",
    who,
    summary: "Claim up to 256 jobs under one signature",
    body: shapes.claimBatchRequest,
    answers: {
      200: { description: "Leased jobs", shape: z.union([shapes.claimedBatch, shapes.leasedBatch]) },
      204: none,
    },
  }),
  pendingJob: route({
    method: "GET",
    path: "/jobs/pending",
    who,
    summary:
      "Claim one job by long poll; the body is the signed document, lease and job token are in headers",
    query: z.strictObject({
      worker_id: workerId,
      wait: queryInteger(0, 60).optional(),
      boot_id: shapes.bootId.optional(),
    }),
    answers: {
      200: {
        description: "The document plus `signature`",
        shape: jobDocument.extend({ signature: z.string() }),
        type: "application/json",
        headers: {
          "Writ-Key-Id": "The key that signed both",
          "Writ-Lease": "The lease with its signature: JSON in base64",
          "Writ-Job-Token":
            "A token for the attempt itself; only for a job with an output_location or inputs",
        },
      },
      204: none,
    },
  }),
  refuseClaim: route({
    method: "POST",
    mayRepeat: true,
    path: "/workers/:id/refused-claims",
    who,
    summary:
      "Report a claim that does not verify; its jobs are given back, and the worker gets none for a while",
    params: workerParams,
    body: shapes.refusedClaim,
    answers: { 200: { description: "What follows", shape: shapes.refusedClaimAnswer } },
  }),
  startJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/start",
    who,
    summary: "Report that the attempt has started",
    params: jobParams,
    body: reports.startRequest,
    answers: { 204: done, 409: leaseLost },
  }),
  heartbeatJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/heartbeat",
    who,
    summary: "Renew the lease of an attempt, and start the attempt if it is only assigned",
    params: jobParams,
    body: reports.heartbeatRequest,
    answers: { 204: done, 409: lostOrCancelled },
  }),
  releaseJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/release",
    who,
    summary: "Give the job back; the attempt is not charged",
    params: jobParams,
    body: reports.releaseRequest,
    answers: { 204: done, 409: leaseLost },
  }),
  reportProgress: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/progress",
    who,
    summary: "Report the progress of the attempt",
    params: jobParams,
    body: reports.progressRequest,
    answers: { 204: done, 409: leaseLost },
  }),
  reportAgent: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/agent",
    who,
    summary: "Report what the attempt's coding agent has done: its calls of tools, as it tells them",
    params: jobParams,
    body: agents.agentRequest,
    answers: { 204: done, 409: leaseLost },
  }),
  readAllowance: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/budget",
    who,
    summary: "Tell how much the attempt's coding agent may use: of the job's budget, and of its tenant's day",
    params: jobParams,
    body: agents.allowanceRequest,
    answers: {
      200: { description: "What is left; empty without limits", shape: agents.allowanceAnswer },
      409: leaseLost,
    },
  }),
  reportStopped: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/stopped",
    who,
    summary:
      "Report that the processes of a cancelled attempt are dead, while its output is still being sent",
    params: jobParams,
    body: reports.stoppedRequest,
    answers: {
      204: done,
      409: { description: "LEASE_LOST, or STATE_CONFLICT when the job was not cancelled" },
    },
  }),
  issueJobToken: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/token",
    who,
    summary: "Issue a new job token, valid for as long as the attempt may run",
    params: jobParams,
    body: reports.jobTokenRequest,
    answers: {
      200: { description: "The token, and when it expires", shape: reports.jobTokenAnswer },
      409: { description: "LEASE_LOST, or STATE_CONFLICT when the job has no output_location and no inputs" },
    },
  }),
  appendOutput: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/output/:stream",
    who,
    summary: "Append bytes at an offset; headers X-Worker-Id, X-Job-Attempt, X-Lease-Token",
    params: outputParams,
    query: z.strictObject({ offset: queryInteger(0, Number.MAX_SAFE_INTEGER) }),
    bodyKind: "bytes",
    headers: {
      "X-Worker-Id": { description: "The worker that holds the attempt", required: true },
      "X-Job-Attempt": { description: "The attempt; an administrator may leave it out" },
      "X-Lease-Token": { description: "The token of the lease; an administrator may leave it out" },
    },
    bodyBytesMax: bodyBytes.batch,
    answers: {
      200: { description: "Appended", shape: z.object({ size: z.int() }) },
      409: { description: "LEASE_LOST, or OUTPUT_OFFSET with the size that the stream has" },
    },
  }),
  finishJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/result",
    who,
    summary: "Report that the attempt succeeded; X-Idempotency-Key marks a repeated report",
    params: jobParams,
    body: reports.resultRequest,
    headers: { "X-Idempotency-Key": { description: "Marks a repeated report" } },
    bodyBytesMax: bodyBytes.ending,
    answers: { 200: { description: "Kept", shape: reports.resultAnswer }, 409: notTaken },
  }),
  failJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/:id/fail",
    who,
    summary: "Report that the attempt failed",
    params: jobParams,
    body: reports.failRequest,
    bodyBytesMax: bodyBytes.ending,
    answers: { 200: { description: "The new state of the job", shape: reports.failAnswer }, 409: notTaken },
  }),
  finishJobs: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/results",
    who,
    summary: "Report up to 256 outcomes in one call; each is accepted or refused by itself",
    body: reports.resultBatch,
    bodyBytesMax: bodyBytes.batch,
    answers: { 200: { description: "One result per item", shape: reports.resultBatchAnswer } },
  }),
} as const;
