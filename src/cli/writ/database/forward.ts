import type { Command } from "commander";
import { startForwarding } from "../../../hub/start.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { whenAborted } from "../../stop-requests.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

type ForwardFlags = { to: string; toGrpc?: string; port?: string; grpcPort?: string };

const help = `
Run it at the old address after \`writ migrate\`, with the home and the settings of the old hub, until every worker and
client has the new address. They follow only to an https:// address whose certificate they trust already, or from one
port of a machine to another. Nothing in the home is changed.`;

export function define(command: Command, context: CliContext): void {
  command
    .requiredOption("--to <addresses>", "the HTTP address of the new hub, or several with commas")
    .option("--to-grpc <addresses>", "its gRPC address as host:port (default: the host of --to, port 50051)")
    .option("--port <n>", "the old port for HTTP (PORT; default: 3000)")
    .option("--grpc-port <n>", "the old port for gRPC (WRIT_GRPC_PORT; default: 50051)")
    .addHelpText("after", help)
    .action((flags: ForwardFlags) => run(command, context, flags));
}

/** Answers at the old address until a signal arrives. */
async function run(
  command: Command,
  context: CliContext,
  { to, toGrpc, port, grpcPort }: ForwardFlags,
): Promise<void> {
  const { env, osUser, stdout, stderr, stops } = context;
  const home = findHome(context, command);
  const forwarding = await startForwarding({ home, flags: { port, grpcPort }, env, osUser, to, toGrpc });
  try {
    for (const warning of forwarding.warnings) stderr.write(`warning: ${neutraliseLine(warning)}\n`);
    stdout.write(`${forwarding.url} sends its callers to ${forwarding.to.join(", ")}. Ctrl-C stops it.\n`);
    await whenAborted(stops.requested);
  } finally {
    await forwarding.stop();
  }
}
