/** The entry point of the client: `import { Writ } from "writ/client"`. */
export { defineJob, type JobDefinition, type StandardSchema } from "../contract/define-job.ts";
export { type ErrorCode, WritError } from "../core/errors.ts";
export { type EnrolledWorker, type EnrollOptions, enrollWorker } from "./enroll-worker.ts";
export type { Files, SaveOptions, TransferOptions, UploadOptions } from "./files.ts";
export type { RpcOptions } from "./find-rpc.ts";
export type { Fleet } from "./fleet.ts";
export { JobFailure } from "./job-failure.ts";
export type { ChangeJobsOptions, ListPage } from "./job-list.ts";
export type { Jobs, RpcListFilter, RpcListPage, StartInput } from "./jobs.ts";
export { JobsOverGrpc } from "./jobs-over-grpc.ts";
export { JobsOverHttp } from "./jobs-over-http.ts";
export type { WritOptions } from "./options.ts";
export { isOver, type RpcJob, type RpcState, rpcStates } from "./rpc-job.ts";
export type * from "./shapes.ts";
export type { AttemptChunk, StreamAttemptsOptions } from "./stream-attempts.ts";
export type { StreamOutputOptions } from "./stream-output.ts";
export type { WaitOptions } from "./wait-job.ts";
export { type EventsOptions, type RunOptions, Writ } from "./writ.ts";
