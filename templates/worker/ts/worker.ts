// Serves jobs for Writ. Each handler gets a job and returns its result; an error fails the job.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type StandardSchema, serveJobs, withSchema } from "./writ-jobs/index.ts";

type Hello = { name: string };

// Or a schema of zod, Valibot or ArkType: they have the same interface.
const hello: StandardSchema<Hello> = {
  "~standard": {
    version: 1,
    vendor: "me",
    validate: (value) =>
      typeof (value as Hello | null)?.name === "string"
        ? { value: { name: (value as Hello).name } }
        : { issues: [{ message: "must be a text", path: ["name"] }] },
  },
};

const handlers = {
  "hello.v1": withSchema(hello, async ({ input, outputDir }, { log, progress, signal }) => {
    log(`greeting ${input.name}`);
    progress(50);
    signal.throwIfAborted();
    const greeting = `hello ${input.name}`;
    if (outputDir !== undefined) await writeFile(join(outputDir, "greeting.txt"), `${greeting}\n`);
    return { greeting };
  }),
};

// Started by Writ, it listens on a socket that no other program can reach. By hand: PORT=8101 node worker.ts
const { port } = await serveJobs(handlers, { port: Number(process.env["PORT"] ?? 8101) });
console.log(`ready as the worker on port ${port}`);
