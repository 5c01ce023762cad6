import { parentPort, workerData } from "node:worker_threads";
import { sqliteDriver } from "../sqlite-driver.ts";
import { serve } from "./serve.ts";
import type { ThreadSettings } from "./wire.ts";

/** The database thread: a slow disk or a held lock blocks it, and never the hub's event loop. Why: ADR 0003. */
void serve(sqliteDriver, parentPort!, workerData as ThreadSettings);
