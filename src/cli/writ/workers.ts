import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { Command } from "commander";
import { findAuthority } from "../../client/hub/find-authority.ts";
import { enrollWorker, type Writ, WritError } from "../../client/index.ts";
import { codeOf, hasCode } from "../../core/errors.ts";
import { isLoopback, listHubAddresses } from "../../runtime/hubs/hub-address.ts";
import { withWrit } from "../connection/connection.ts";
import { loadConnection } from "../connection/connection-settings.ts";
import type { CliContext } from "../context.ts";
import { collect, listByDefault } from "../program.ts";
import { print } from "../terminal/print.ts";
import { neutraliseLine } from "../terminal/terminal.ts";
import { defineActs, defineList, defineRemove } from "./fleet-acts.ts";

type AddFlags = { url?: string[]; out?: string };

export function define(command: Command, context: CliContext): void {
  defineAdd(command.command("add"), context);
  defineList(listByDefault(command), context);
  defineActs(command, context);
  defineRemove(command.command("remove"), context);
}

function defineAdd(add: Command, context: CliContext): void {
  add
    .description(
      "write the agents.yaml that a worker on another machine needs: hub address, token and trusted keys",
    )
    .argument("<name>", "the worker's id")
    .option("--url <url>", "the hub's address as that machine sees it; may be repeated", collect)
    .option("--out <file>", "the file to write", "agents.yaml")
    .action((name: string, flags: AddFlags) =>
      withWrit(context, add, (writ) => addWorker(writ, { context, command: add, name, flags })),
    );
}

async function addWorker(
  writ: Writ,
  { context, command, name, flags }: { context: CliContext; command: Command; name: string; flags: AddFlags },
): Promise<void> {
  const file = resolve(context.cwd, flags.out ?? "agents.yaml");
  // It may be another worker's file, with that worker's token.
  if (existsSync(file))
    throw new WritError("INVALID_ARGUMENT", `--out: ${file} already exists; name another file`);
  // Before a token is issued that could then not be written down.
  await access(dirname(file), constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new WritError(
      "INVALID_ARGUMENT",
      `--out: ${file} cannot be written (${codeOf(error)}); name a file elsewhere`,
      { advice: "" },
    );
  });
  const { home, ca } = await loadConnection(context, command);
  const hubUrls = addressesIn(flags.url) ?? (await writ.publicUrls());
  const isTls = hubUrls.some((url) => url.startsWith("https:"));
  // A hub that is called without TLS here has a proxy in front of it, whose certificate our authority has not signed.
  const isBehindProxy = ca === undefined && (await writ.hubUrls()).every((url) => url.startsWith("http:"));
  const caPem = isTls && !isBehindProxy ? await findAuthority({ caFile: ca, home }) : undefined;
  const enrolled = await enrollWorker(writ, { name, hubUrls, caPem, file });
  if (hubUrls.some((url) => isLoopback(URL.parse(url)?.hostname ?? ""))) {
    context.stderr.write(
      `note: only this machine can reach ${hubUrls.join(",")}; give the hub's public address with --url\n`,
    );
  }
  const plain = hubUrls.filter((url) => isPlainElsewhere(url));
  if (plain.length > 0) {
    context.stderr.write(
      `note: ${plain.join(",")} would get the token unencrypted; the worker starts only with WRIT_ALLOW_INSECURE=true\n`,
    );
  }
  print(context, command, enrolled, () =>
    [
      `${neutraliseLine(file)} is ready for ${neutraliseLine(name)}. It contains a token: copy it over a secure channel, then run on the other machine:`,
      `  writ worker --config ${neutraliseLine(basename(file))}`,
      "",
    ].join("\n"),
  );
}

/** What the worker would refuse at its start is refused before it has a token. */
function addressesIn(given: readonly string[] | undefined): string[] | undefined {
  if (given === undefined) return undefined;
  try {
    return listHubAddresses(given.join(","), { allowInsecure: true });
  } catch (error) {
    if (!hasCode(error, "CONFIG_INVALID")) throw error;
    throw new WritError("INVALID_ARGUMENT", `--url: ${(error as Error).message}`, { advice: "" });
  }
}

function isPlainElsewhere(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}
