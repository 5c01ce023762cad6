import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Command } from "commander";
import { enrollWorker, type Writ, WritError } from "../../client/index.ts";
import { isLoopback } from "../../runtime/hub-address.ts";
import { readSmallFile } from "../../runtime/private-file.ts";
import { findHome, withWrit } from "../connection.ts";
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
  const options = command.optsWithGlobals<{ home?: string; hub?: string }>();
  const home = findHome(context, options.home);
  const hubUrls = flags.url ?? [options.hub ?? context.env["WRIT_HUB_URL"] ?? (await hubUrlOf(home))];
  const enrolled = await enrollWorker(writ, { name, hubUrls, caPem: await authority(home, hubUrls), file });
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

async function hubUrlOf(home: string): Promise<string> {
  const text = await readSmallFile(join(home, "hub.json"), { mustBePrivate: false });
  if (text === null) throw new WritError("HUB_UNREACHABLE", `no hub is running in ${home}`);
  return (JSON.parse(text) as { url: string }).url;
}

async function authority(home: string, urls: readonly string[]): Promise<string | undefined> {
  if (!urls.some((url) => url.startsWith("https:"))) return undefined;
  return (await readSmallFile(join(home, "certs", "ca.crt"), { mustBePrivate: false })) ?? undefined;
}
