import type { Command } from "commander";
import type { Jobs } from "../../client/jobs/jobs.ts";
import type { CliContext } from "../context.ts";
import { httpOptions, rpcOptions } from "./client-options.ts";
import { loadConnection } from "./connection-settings.ts";
import { jobsCredential } from "./credential.ts";

/**
 * Opens the jobs of the hub for as long as `act` runs: over gRPC with a certificate, over HTTP with a token or where only
 * HTTP will do. Only one of the two clients is loaded, because loading takes much of a short command's time.
 * Why: ADR 0017, ADR 0036.
 */
export async function withJobs<T>(
  context: CliContext,
  command: Command,
  act: (jobs: Jobs) => Promise<T>,
  { overHttp = false }: { overHttp?: boolean } = {},
): Promise<T> {
  const connection = await loadConnection(context, command);
  const jobs =
    overHttp || jobsCredential(connection) === "token"
      ? new (await import("../../client/jobs/jobs-over-http.ts")).JobsOverHttp(httpOptions(connection))
      : new (await import("../../client/grpc/jobs-over-grpc.ts")).JobsOverGrpc(rpcOptions(connection));
  try {
    return await act(jobs);
  } finally {
    jobs.close();
  }
}
