/**
 * A job list for agents in terminals, without a server: `import { register, pick } from "writ/registry"`.
 * Why: ADR 0049.
 */
export { type ErrorCode, WritError } from "../core/errors.ts";
export type { Registration } from "./check-registration.ts";
export type { Broker, RegistryJob, RegistryStatus } from "./job-record.ts";
export { nextSeq } from "./next-seq.ts";
export { pick } from "./pick.ts";
export { type Publication, type Published, publish } from "./publish.ts";
export { get, list, macKey } from "./read-jobs.ts";
export { type HistoryLine, type LoggedJob, listLogs, readLog } from "./read-log.ts";
export { register } from "./register.ts";
export type { RegistryPlace } from "./registry-place.ts";
export { sendWaiting } from "./send-waiting.ts";
export { setStatus } from "./set-status.ts";
export { type JobMessage, type Subscription, type SubscriptionEnd, subscribe } from "./subscribe.ts";
