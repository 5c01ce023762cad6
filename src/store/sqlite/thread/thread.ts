import { parentPort, workerData } from "node:worker_threads";
import { serveFile } from "./serve-file.ts";
import type { WriterSettings } from "./wire.ts";

/** The database thread: a slow disk or a held lock blocks it, and never the hub's event loop. Why: ADR 0003. */
void serveFile(parentPort!, workerData as WriterSettings);
