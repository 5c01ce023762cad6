import type { Handlers } from "../call.ts";
import { adminHandlers } from "./admin-handlers.ts";
import { auditHandlers } from "./audit-handlers.ts";
import { fileHandlers } from "./file-handlers.ts";
import { hookHandlers } from "./hook-handlers.ts";
import { jobHandlers } from "./job-handlers.ts";
import { keyHandlers } from "./key-handlers.ts";
import { laneHandlers } from "./lane-handlers.ts";
import { scheduleHandlers } from "./schedule-handlers.ts";
import { statisticsHandlers } from "./statistics-handlers.ts";
import { webhookHandlers } from "./webhook-handlers.ts";
import { workerHandlers } from "./worker-handlers.ts";

/** A handler for each route of the table. Why: ADR 0005, ADR 0024. */
export const handlers: Handlers = {
  ...jobHandlers,
  ...fileHandlers,
  ...workerHandlers,
  ...adminHandlers,
  ...keyHandlers,
  ...auditHandlers,
  ...statisticsHandlers,
  ...scheduleHandlers,
  ...webhookHandlers,
  ...hookHandlers,
  ...laneHandlers,
};
