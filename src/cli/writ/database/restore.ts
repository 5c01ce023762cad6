import { resolve } from "node:path";
import type { Command } from "commander";
import { restore } from "../../../hub/admin.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { askPassphrase, passphraseOption } from "../../terminal/ask-passphrase.ts";
import { print } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

type RestoreOptions = { passphraseFile?: string; acceptDamaged?: boolean };

const outputsElsewhere =
  "Output and files of jobs are not in a backup. Copy outputs/ and objects/ there if you have them, then start the hub with:";
const filesElsewhere =
  "The output of jobs came back with the database, except older parts in an object store or in the folder of WRIT_OUTPUTS_DIR; those have to be where they were. Files of jobs are not in a backup: copy objects/ there if you have it. Then start the hub, with the same WRIT_DATABASE_URL, with:";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<file>", "the backup file")
    .option(...passphraseOption)
    .option(
      "--accept-damaged",
      "restore jobs that do not match their seals as well; they are shown as damaged",
    )
    .addHelpText(
      "after",
      "\nThe home (--home) must be empty or not exist yet. The audit trail and the seal of every document are checked first;\nif a check fails, nothing is restored.",
    )
    .action(async (file: string, { passphraseFile, acceptDamaged = false }: RestoreOptions) => {
      const passphrase = await askPassphrase(context, { file: passphraseFile, isNew: false });
      const restored = await restore({
        home: findHome(context, command),
        env: context.env,
        file: resolve(context.cwd, file),
        passphrase,
        osUser: context.osUser,
        clock: systemClock,
        acceptDamaged,
      });
      print(context, command, restored, ({ records, seals, recalled, ended, damaged, refused, unchecked }) =>
        [
          `${neutraliseLine(restored.home)} is restored: ${records} audit records and ${seals} document seals were checked.`,
          ...(damaged.length + refused === 0
            ? []
            : [`Damaged jobs that no worker is given: ${damaged.length + refused}.`]),
          `Jobs that workers held at the time of the backup and that are pending again: ${recalled}.`,
          ...(ended === 0
            ? []
            : [
                `Jobs that workers held and that have ended, because their only attempt had begun or they were being cancelled: ${ended}.`,
              ]),
          ...unchecked.map((what) => `Not checked: ${neutraliseLine(what)}`),
          restored.output_in_database ? filesElsewhere : outputsElsewhere,
          `  writ up --home ${neutraliseLine(restored.home)}`,
          "",
        ].join("\n"),
      );
    });
}
