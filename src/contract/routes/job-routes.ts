import { z } from "zod";
import { outputStreams } from "../../core/jobs/output-stream.ts";
import { bulkAnswer, bulkRequest, jobCounts, listFilter, listQuery } from "../list-query.ts";
import { jobId, queryFlag, queryInteger, text } from "../shapes/fields.ts";
import { startRequest } from "../shapes/start-shapes.ts";
import { accepted, jobBatch, jobSubmission, submitted } from "../shapes/submit-shapes.ts";
import { receiptView } from "../shapes/trust-view-shapes.ts";
import { eventView, jobSummary, jobView } from "../shapes/view-shapes.ts";
import { whyView } from "../why-view.ts";
import { bodyBytes, nextCursor, route } from "./route.ts";

const jobParams = z.strictObject({ id: jobId });
export const outputParams = z.strictObject({
  id: jobId,
  stream: z.enum(outputStreams, "must be stdout or stderr"),
});

const readers = ["user", "viewer"] as const;
const listHeaders = {
  ...nextCursor,
  "X-Last-Event-Id":
    "The last event that this list shows the effect of; `Last-Event-ID` to follow what comes after it",
  "X-Total-Count": "How many there are in all, with count=true",
} as const;
const outputHeaders = { "X-Job-Attempt": "The attempt that wrote it" } as const;

const foundView = z.object({
  attempt: z.int(),
  size: z.int(),
  offsets: z.array(z.int()),
  next: z.int().nullable().meta({ description: "`from` of the next call; null when all is searched" }),
});

const traceHeaders = {
  traceparent: { description: "The caller's trace context (W3C), for jobs whose body has none" },
} as const;

export const jobRoutes = {
  submitJob: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs",
    who: ["user"],
    summary: "Submit a job",
    body: jobSubmission,
    headers: traceHeaders,
    bodyBytesMax: bodyBytes.ordinary,
    answers: {
      201: { description: "Accepted and durable", shape: submitted },
      200: {
        description: "The same key and body were accepted before, or another job has the unique key",
        shape: submitted,
      },
      409: { description: "The same key with another body" },
    },
  }),
  startCommand: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/start",
    who: ["user"],
    summary: "Start a command as a job; the hub sets what is left out, as StartJob over gRPC does",
    body: startRequest,
    headers: traceHeaders,
    bodyBytesMax: bodyBytes.ordinary,
    answers: {
      201: { description: "Accepted and durable", shape: accepted },
      200: { description: "The same key and body were accepted before", shape: accepted },
      409: { description: "The same key with another body" },
    },
  }),
  submitJobs: route({
    method: "POST",
    mayRepeat: true,
    path: "/jobs/batch",
    who: ["user"],
    summary: "Submit up to 1000 jobs; all are accepted, or none",
    body: jobBatch,
    headers: traceHeaders,
    bodyBytesMax: bodyBytes.batch,
    answers: { 201: { description: "All accepted", shape: z.object({ jobs: z.array(submitted) }) } },
  }),
  listJobs: route({
    method: "GET",
    path: "/jobs",
    who: readers,
    summary:
      "List jobs, newest first, without large fields; the next page is in X-Next-Cursor, with count=true the total in X-Total-Count",
    query: listQuery,
    answers: { 200: { description: "Jobs", shape: z.array(jobSummary), headers: listHeaders } },
  }),
  countJobs: route({
    method: "GET",
    path: "/jobs/counts",
    who: readers,
    summary: "Count jobs by state, with the filter of the list",
    query: listFilter.omit({ status: true }),
    answers: {
      200: {
        description: "Each state; cancelled jobs are apart from failed ones, and scheduled from pending ones",
        shape: jobCounts,
      },
    },
  }),
  streamEvents: route({
    method: "GET",
    path: "/jobs/events",
    who: readers,
    summary: "Follow the events of jobs as server-sent events; Last-Event-ID resumes without a gap",
    query: z.strictObject({
      job_id: jobId.optional(),
      hub: queryFlag.optional().meta({
        description:
          "Also `hub:opened` at the beginning, and `hub:changed` when workers, queues, keys or a lockdown have changed",
      }),
    }),
    headers: { "Last-Event-ID": { description: "The id of the last event that was received" } },
    answers: { 200: { description: "Events job:created … job:quarantined", type: "text/event-stream" } },
  }),
  getJob: route({
    method: "GET",
    path: "/jobs/:id",
    who: readers,
    summary: "Read one job",
    params: jobParams,
    answers: { 200: { description: "The job", shape: jobView } },
  }),
  cancelJob: route({
    method: "DELETE",
    path: "/jobs/:id",
    who: ["user"],
    summary: "Cancel a job",
    params: jobParams,
    answers: {
      204: { description: "The job has ended" },
      202: { description: "The worker has been told to stop the job" },
      409: { description: "The job had already ended" },
    },
  }),
  retryJob: route({
    method: "POST",
    path: "/jobs/:id/retry",
    who: ["user"],
    summary: "Put a failed or quarantined job back into the queue",
    params: jobParams,
    body: z.strictObject({}).optional(),
    answers: { 200: { description: "The job is pending again", shape: accepted } },
  }),
  holdJob: route({
    method: "POST",
    path: "/jobs/:id/hold",
    who: ["user"],
    summary: "Hold a pending job: no worker is given it until it is resumed",
    params: jobParams,
    body: z.strictObject({}).optional(),
    answers: { 200: { description: "The job is held", shape: accepted } },
  }),
  resumeJob: route({
    method: "POST",
    path: "/jobs/:id/resume",
    who: ["user"],
    summary: "Resume a held job; `queue_ttl_sec` counts anew from then",
    params: jobParams,
    body: z.strictObject({}).optional(),
    answers: { 200: { description: "The job is not held", shape: accepted } },
  }),
  changeJobs: route({
    method: "POST",
    path: "/jobs/bulk",
    who: ["user"],
    summary: "Cancel or retry up to 10,000 jobs, by their ids or by a filter; with dry_run, only count them",
    body: bulkRequest,
    bodyBytesMax: bodyBytes.ordinary,
    answers: { 200: { description: "What was done and what was not", shape: bulkAnswer } },
  }),
  readOutput: route({
    method: "GET",
    path: "/jobs/:id/output/:stream",
    who: readers,
    summary: "Read the output of an attempt; with follow=true, until the attempt has ended",
    params: outputParams,
    query: z.strictObject({
      offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
      attempt: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
      follow: queryFlag.optional(),
    }),
    headers: { Range: { description: "One range of bytes, such as `bytes=0-1023`; not with follow" } },
    answers: {
      200: { description: "Bytes", type: "application/octet-stream", headers: outputHeaders },
      206: {
        description: "A range of them",
        type: "application/octet-stream",
        headers: { ...outputHeaders, "Content-Range": "Which range, and the size of the output" },
      },
    },
  }),
  searchOutput: route({
    method: "GET",
    path: "/jobs/:id/output/:stream/search",
    who: readers,
    summary: "Find a text in the output of an attempt: up to 1,000 offsets, and where to continue",
    params: outputParams,
    query: z.strictObject({
      q: text(1, 200),
      attempt: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
      from: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
      ignore_case: queryFlag
        .optional()
        .meta({ description: "A to Z are found as a to z, and the other way" }),
    }),
    answers: { 200: { description: "Where the text begins, in bytes", shape: foundView } },
  }),
  listJobEvents: route({
    method: "GET",
    path: "/jobs/:id/events",
    who: readers,
    summary: "List the events of a job",
    params: jobParams,
    query: z.strictObject({
      after: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
      limit: queryInteger(1, 1000).optional(),
    }),
    answers: { 200: { description: "Events, oldest first", shape: z.array(eventView) } },
  }),
  explainJob: route({
    method: "GET",
    path: "/jobs/:id/why",
    who: readers,
    summary: "Explain why the job is in its current state",
    params: jobParams,
    answers: { 200: { description: "The reason", shape: whyView } },
  }),
  getReceipt: route({
    method: "GET",
    path: "/jobs/:id/receipt",
    who: readers,
    summary: "Read the receipt of the last attempt that has one, with everything needed to check it",
    params: jobParams,
    answers: { 200: { description: "The receipt", shape: receiptView } },
  }),
} as const;
