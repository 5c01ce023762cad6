export { type ErrorCode, WritError } from "../core/errors.ts";
export type { OutputStream } from "../core/jobs/output-stream.ts";
export type { LimitsText } from "../core/limits.ts";
export {
  type Cage,
  type JobStatus,
  type OpenCageOptions,
  openCage,
} from "./open-cage.ts";
export { type Isolation, type IsolationLevel, SandboxUnavailable, type Usage } from "./sandbox.ts";
