import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { findAuthority } from "../../client/find-authority.ts";
import { enrollWorker, type Writ, WritError } from "../../client/index.ts";
import { isLoopback } from "../../runtime/hub-address.ts";
import { withWrit } from "../connection.ts";
import { loadConnection } from "../connection-settings.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { collect, listByDefault } from "../program.ts";
import { neutraliseLine } from "../terminal.ts";
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
  const { home, ca } = await loadConnection(context, command);
  const hubUrls = flags.url ?? (await writ.hubUrls());
  const isTls = hubUrls.some((url) => url.startsWith("https:"));
  const caPem = isTls ? await findAuthority({ caFile: ca, home }) : undefined;
  const enrolled = await enrollWorker(writ, { name, hubUrls, caPem, file });
  if (hubUrls.some((url) => isLoopback(URL.parse(url)?.hostname ?? ""))) {
    context.stderr.write(
      `note: only this machine can reach ${hubUrls.join(",")}; give the hub's public address with --url\n`,
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
