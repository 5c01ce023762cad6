export { type Job, type JobContext, type JobHandler, type TypedHandler, withSchema } from "./handlers.ts";
export type { StandardSchema } from "./schema.ts";
export { type JobServer, type ServeOptions, serveJobs } from "./serve-jobs.ts";
