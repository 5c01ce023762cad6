import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Files } from "../../../client/files/files.ts";
import type { HubCaller } from "../../../client/hub/hub-caller.ts";
import { JobWaits } from "../../../client/jobs/wait-job.ts";
import type { RouteInput } from "../../../contract/routes/build-request.ts";
import { jobRoutes } from "../../../contract/routes/job-routes.ts";
import { type RouteName, routes } from "../../../contract/routes/routes.ts";
import { hasCode, WritError } from "../../../core/errors.ts";
import type { AskedOutput, FoundOutput, McpHub, OutputPart } from "../../../mcp/mcp-hub.ts";

/** A hub as its routes show it to this user, for the tools. Why: ADR 0119. */
export function hubForTools(hub: HubCaller, signal: AbortSignal): McpHub {
  const waits = new JobWaits(hub);
  const files = new Files(hub);
  const call: McpHub["call"] = <N extends RouteName>(name: N, input: RouteInput<(typeof routes)[N]>) =>
    hub.call<(typeof routes)[N]>(routes[name], input, { signal });
  return {
    call,
    readOutput: (asked, part) => readOutput(hub, asked, { part, signal }),
    async readArtifact({ jobId, key, folderId, bytesMax }) {
      const all = await files.artifacts(jobId);
      const file = all.find(({ object_key, folder_id }) => object_key === key && folder_id === folderId);
      if (file === undefined) throw new WritError("NOT_FOUND", `job ${jobId} has no file ${key}`);
      if (file.size > bytesMax)
        throw new WritError(
          "TOO_LARGE",
          `${key} has ${file.size} bytes; at most ${bytesMax} are read at once`,
        );
      const dir = await mkdtemp(join(tmpdir(), "writ-mcp-"));
      try {
        await files.saveArtifacts(jobId, dir, { files: [file], signal });
        return await readFile(join(dir, file.path));
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    },
    async waitForEnd(id, timeoutMs) {
      try {
        return await waits.wait(id, { timeoutMs, signal });
      } catch (error) {
        if (!hasCode(error, "TIMED_OUT")) throw error;
        return (await call("getJob", { params: { id } })).body;
      }
    },
  };
}

/** The hub sends the range that was asked for, or says with 416 how much there is. */
async function readOutput(
  hub: HubCaller,
  { jobId, stream, attempt }: AskedOutput,
  { part, signal }: { part: OutputPart; signal: AbortSignal },
): Promise<FoundOutput> {
  const range = "last" in part ? `bytes=-${part.last}` : `bytes=${part.start}-${part.end - 1}`;
  const input = { params: { id: jobId, stream }, query: { attempt }, headers: { Range: range } };
  const answer = await hub.stream(jobRoutes.readOutput, input, signal);
  const pieces: Buffer[] = [];
  for await (const piece of answer.body) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(answer.header("content-range") ?? "") ?? [];
  return { start: Number(start ?? 0), size: Number(size ?? bytes.length), bytes };
}
