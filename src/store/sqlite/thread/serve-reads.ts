import type { MessagePort } from "node:worker_threads";
import type { ShowJobs } from "../../jobs/job-list.ts";
import type { Connection } from "../database/connection.ts";
import { drainPort } from "./drain-port.ts";
import { loadFailpoint } from "./failpoint.ts";
import { LogPause } from "./log-pause.ts";
import { type ReadActs, Reader } from "./reader.ts";
import type { FromThread, ReaderSettings, ToThread } from "./wire.ts";

/**
 * Answers the reads that come through a port, each as soon as it is done, until it is told to close.
 * Why: ADR 0059.
 */
export async function serveReads<Context extends { readonly sql: Connection }>(
  acts: ReadActs<Context>,
  port: MessagePort,
  settings: ReaderSettings,
  show?: ShowJobs,
): Promise<void> {
  const post = (message: FromThread): void => port.postMessage(message);
  const reader = new Reader(acts, settings, await loadFailpoint(settings.failpointModule), show);
  const pause = new LogPause(settings.path);
  port.on("message", (message: ToThread) => {
    const { requests, isClosing } = drainPort(port, message);
    for (const request of requests) {
      pause.pauseIfLong();
      post({ kind: "read", answer: reader.answer(request) });
    }
    if (!isClosing) return;
    reader.close();
    port.close();
  });
}
