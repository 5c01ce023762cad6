import { resolve } from "node:path";
import type { Command } from "commander";
import type { SigningKey } from "../../client/index.ts";
import { writePrivateFile } from "../../runtime/home.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { parseDuration } from "../duration.ts";
import { print, wantsJson } from "../print.ts";
import { parsed } from "../program.ts";
import { type Column, formatTable } from "../table.ts";
import { neutraliseLine, safeJson } from "../terminal.ts";

export function define(command: Command, context: CliContext): void {
  defineList(command.command("list"), context);
  defineRotate(command.command("rotate"), context);
  defineRevoke(command.command("revoke"), context);
  defineExport(command.command("export"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the public keys that jobs are signed with").action(() =>
    withWrit(context, command, async (writ) => {
      const keys = await writ.keys();
      const text = wantsJson(command)
        ? keys.map((key) => `${safeJson(key)}\n`).join("")
        : formatTable(keyColumns, keys);
      context.stdout.write(text);
    }),
  );
}

function defineRotate(command: Command, context: CliContext): void {
  command
    .description("make a new signing key; the old one signs on beside it for 14 days")
    .option("--emergency", "the old key may be known to others: end it, and what was leased with it")
    .option(
      "--notice <time>",
      "in an emergency, let the old key live so long, such as 1h, for workers to take the new one",
      parsed(parseDuration, "a time such as 30m or 1h"),
    )
    .action(({ emergency, notice }: { emergency?: boolean; notice?: number }) =>
      withWrit(context, command, async (writ) => {
        const notice_sec = notice === undefined ? undefined : Math.ceil(notice / 1000);
        const made = await writ.rotateKeys({ emergency, notice_sec });
        print(context, command, made, ({ key_id }) => `${key_id} signs from now on\n`);
      }),
    );
}

function defineRevoke(command: Command, context: CliContext): void {
  command
    .description("end a key that was replaced")
    .argument("<id>", "the key's id, as `writ keys list` shows it")
    .option("--now", "what was leased with it is void, and its workers are told to stop")
    .action((id: string, { now }: { now?: boolean }) =>
      withWrit(context, command, async (writ) => {
        const key = await writ.revokeKey(id, { now });
        print(context, command, key, ({ key_id }) => `${key_id} is revoked\n`);
      }),
    );
}

/** What a worker or an offline reader is given: the keys that count, as PEM, and nothing that is secret. */
function defineExport(command: Command, context: CliContext): void {
  command
    .description("write the public keys as PEM, for workers and for `jobctl verify --keys`")
    .option("--out <file>", "into this file instead of the standard output")
    .action(({ out }: { out?: string }) =>
      withWrit(context, command, async (writ) => {
        const keys = (await writ.keys()).filter(({ status }) => status !== "revoked");
        const pem = keys.map(({ public_key }) => `${public_key.trim()}\n`).join("");
        if (out === undefined) return void context.stdout.write(pem);
        const file = resolve(context.cwd, out);
        await writePrivateFile(file, pem);
        const exported = { file, key_ids: keys.map(({ key_id }) => key_id) };
        print(context, command, exported, () => `${keys.length} keys are in ${neutraliseLine(file)}\n`);
      }),
    );
}

const keyColumns: Column<SigningKey>[] = [
  { title: "ID", cell: (key) => key.key_id },
  { title: "STATE", cell: (key) => key.status },
  { title: "SINCE", cell: (key) => new Date(key.not_before).toISOString() },
  {
    title: "UNTIL",
    cell: (key) => (key.not_after === null ? "open" : new Date(key.not_after).toISOString()),
  },
];
