import type { Command } from "commander";
import type { JobsOverGrpc } from "../client/jobs-over-grpc.ts";
import { type ConnectionSettings, loadConnection } from "./connection-settings.ts";
import type { CliContext } from "./context.ts";

const grpcPortDefault = 50_051;

/** Opens a gRPC client, which authenticates with a certificate, for as long as `act` runs. */
export async function withJobs<T>(
  context: CliContext,
  command: Command,
  act: (jobs: JobsOverGrpc) => Promise<T>,
): Promise<T> {
  const settings = await loadConnection(context, command);
  const { JobsOverGrpc } = await import("../client/jobs-over-grpc.ts");
  const jobs = new JobsOverGrpc({
    address: addressOf(settings),
    home: settings.home,
    user: settings.user ?? context.osUser,
    caFile: settings.ca,
    certFile: settings.cert,
    keyFile: settings.key,
  });
  try {
    return await act(jobs);
  } finally {
    jobs.close();
  }
}

/** A hub that is given by its HTTP address alone is expected to serve gRPC on the default port. */
export function addressOf({ grpc, hub }: Pick<ConnectionSettings, "grpc" | "hub">): string | undefined {
  if (grpc !== undefined || hub === undefined) return grpc;
  const host = URL.parse(hub)?.hostname;
  return host === undefined ? undefined : `${host}:${grpcPortDefault}`;
}
