// Serves jobs for Writ. Each handler gets a job and returns its result; an error fails the job.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serveJobs } from "./writ-jobs.mjs";

const handlers = {
  "hello.v1": async ({ input, outputDir }, { log, progress, signal }) => {
    if (typeof input?.name !== "string") {
      // A job that fails with this code is not tried again.
      throw Object.assign(new Error("name must be a text"), { code: "INVALID_INPUT" });
    }
    log(`greeting ${input.name}`);
    progress(50);
    signal.throwIfAborted();
    const greeting = `hello ${input.name}`;
    if (outputDir !== undefined) await writeFile(join(outputDir, "greeting.txt"), `${greeting}\n`);
    return { greeting };
  },
};

// Started by Writ, it listens on a socket that no other program can reach. By hand: PORT=8101 node worker.mjs
const { port } = await serveJobs(handlers, { port: Number(process.env.PORT ?? 8101) });
console.log(`ready as the worker on port ${port}`);
