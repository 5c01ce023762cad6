import { resolve } from "node:path";
import type { Command } from "commander";
import type { SigningKey } from "../../client/index.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { parsed } from "../program.ts";
import { parseDuration } from "../terminal/duration.ts";
import { print } from "../terminal/print.ts";
import { printRows } from "../terminal/print-rows.ts";
import type { Column } from "../terminal/table.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  defineList(command.command("list"), context);
  defineRotate(command.command("rotate"), context);
  defineRevoke(command.command("revoke"), context);
  defineExport(command.command("export"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the public keys that jobs are signed with").action(() =>
    withWrit(context, command, async (writ) => {
      await printRows(context, command, { rows: await writ.keys(), columns: keyColumns, none: "no keys" });
    }),
  );
}

function defineRotate(command: Command, context: CliContext): void {
  command
    .description(
      "create a new signing key; the old key also signs for 14 more days, so that workers can switch",
    )
    .option(
      "--emergency",
      "the old key may have leaked: revoke it now and take back every lease signed with it",
    )
    .option(
      "--notice <time>",
      "with --emergency: revoke the old key only after this time, such as 1h, so that workers can switch",
      parsed(parseDuration, "a time such as 30m or 1h"),
    )
    .action(({ emergency, notice }: { emergency?: boolean; notice?: number }) =>
      withWrit(context, command, async (writ) => {
        const notice_sec = notice === undefined ? undefined : Math.ceil(notice / 1000);
        const made = await writ.rotateKeys({ emergency, noticeSec: notice_sec });
        const next = emergency === true && !notice_sec ? afterEmergency : "";
        print(context, command, made, ({ key_id }) => `${key_id} is the new signing key\n${next}`);
      }),
    );
}

/** No key that the workers trust is left to vouch for the new one, so somebody has to give it to them. */
const afterEmergency = `
Workers that trusted only the old keys are given no jobs until they have the new one:
  the worker of \`npm start\` or \`writ up\` gets it by itself
  each other worker: run \`writ workers add ID\`, replace its agents.yaml with the new file, and restart it
\`writ doctor\` lists the workers that still need it.
`;

function defineRevoke(command: Command, context: CliContext): void {
  command
    .description("revoke a key that has been replaced")
    .argument("<id>", "the key's id, from `writ keys list`")
    .option("--now", "also take back every lease signed with it; workers stop those jobs")
    .action((id: string, { now }: { now?: boolean }) =>
      withWrit(context, command, async (writ) => {
        const key = await writ.revokeKey(id, { now });
        print(context, command, key, ({ key_id }) => `${key_id} is revoked\n`);
      }),
    );
}

/** Exports the valid public keys as PEM, for workers and for offline checks; none of it is secret. */
function defineExport(command: Command, context: CliContext): void {
  command
    .description("write the public keys as PEM, for workers and for `jobctl verify --keys`")
    .option("--out <file>", "write to this file instead of standard output")
    .action(({ out }: { out?: string }) =>
      withWrit(context, command, async (writ) => {
        const keys = (await writ.keys()).filter(({ status }) => status !== "revoked");
        const pem = keys.map(({ public_key }) => `${public_key.trim()}\n`).join("");
        if (out === undefined) return void context.stdout.write(pem);
        const file = resolve(context.cwd, out);
        await writePrivateFile(file, pem);
        const exported = { file, key_ids: keys.map(({ key_id }) => key_id) };
        const count = keys.length === 1 ? "1 public key" : `${keys.length} public keys`;
        print(context, command, exported, () => `wrote ${count} to ${neutraliseLine(file)}\n`);
      }),
    );
}

const keyColumns: Column<SigningKey>[] = [
  { title: "ID", cell: (key) => key.key_id },
  { title: "STATE", cell: (key) => key.status },
  { title: "SINCE", cell: (key) => new Date(key.not_before).toISOString() },
  {
    title: "UNTIL",
    cell: (key) => (key.not_after === null ? "no end" : new Date(key.not_after).toISOString()),
  },
];
