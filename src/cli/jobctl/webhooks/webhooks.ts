import { type Command, Option } from "commander";
import type { Webhook, Writ } from "../../../client/index.ts";
import { webhookEvents } from "../../../core/webhooks/webhook.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { listByDefault, wholeNumber } from "../../program.ts";
import { print } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import type { Column } from "../../terminal/table.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { webhookText } from "./webhook-text.ts";

export function define(command: Command, context: CliContext): void {
  defineList(listByDefault(command), context);
  defineShow(command.command("show"), context);
  definePut(command.command("put"), context);
  defineRotate(command.command("rotate"), context);
  defineRedeliver(command.command("redeliver"), context);
  defineRemove(command.command("remove"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the webhooks, and how far each has come").action(() =>
    withWrit(context, command, async ({ webhooks }) => {
      const rows: Webhook[] = [];
      for await (const webhook of webhooks.list()) rows.push(webhook);
      await printRows(context, command, { rows, columns, none: "no webhooks" });
    }),
  );
}

const columns: Column<Webhook>[] = [
  { title: "NAME", cell: ({ name }) => name, minWidth: 12 },
  { title: "URL", cell: ({ url }) => url, minWidth: 12 },
  { title: "STATE", cell: ({ state }) => state },
  { title: "SEQ", cell: ({ seq }) => seq },
  { title: "DELIVERED", cell: ({ delivered }) => delivered.count },
  { title: "GIVEN UP", cell: ({ given_up }) => given_up.count, isOptional: true },
  { title: "EVENTS", cell: ({ events }) => events.join(","), isOptional: true },
];

function defineShow(command: Command, context: CliContext): void {
  command
    .description("show a webhook, and what it could not deliver")
    .argument("<name>", "the name of the webhook")
    .action((name: string) => show(context, command, (writ) => writ.webhooks.get(name)));
}

type PutFlags = { event: string[]; type?: string[]; user?: string[] };

function definePut(command: Command, context: CliContext): void {
  const event = new Option("--event <name...>", "the events that are sent, such as job:completed");
  command
    .description("create a webhook, change it, or enable it again; the secret of a new one is shown once")
    .argument("<name>", "the name of the webhook")
    .argument("<url>", "where the hub posts to, by https")
    .addOption(event.choices(webhookEvents).makeOptionMandatory())
    .option("--type <type...>", "only jobs of these types")
    .option("--user <id...>", "only jobs of these users")
    .action((name: string, url: string, flags: PutFlags) => {
      const filter = {
        ...(flags.type && { types: flags.type }),
        ...(flags.user && { user_ids: flags.user }),
      };
      return show(context, command, (writ) => writ.webhooks.put(name, { url, events: flags.event, filter }));
    });
}

function defineRotate(command: Command, context: CliContext): void {
  command
    .description("make a new secret, shown once; messages are signed with both for a day")
    .argument("<name>", "the name of the webhook")
    .action((name: string) => show(context, command, (writ) => writ.webhooks.rotate(name)));
}

function defineRedeliver(command: Command, context: CliContext): void {
  command
    .description("send the events of the log again from this one on; enables a webhook that was disabled")
    .argument("<name>", "the name of the webhook")
    .requiredOption("--from-seq <n>", "the first event that is sent", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((name: string, flags: { fromSeq: number }) =>
      show(context, command, (writ) => writ.webhooks.redeliver(name, flags.fromSeq)),
    );
}

function defineRemove(command: Command, context: CliContext): void {
  command
    .description("remove a webhook")
    .argument("<name>", "the name of the webhook")
    .action((name: string) =>
      withWrit(context, command, async (writ) => {
        await writ.webhooks.remove(name);
        const result = `${name} is removed`;
        print(context, command, { name, result }, () => `${neutraliseLine(result)}\n`);
      }),
    );
}

function show(context: CliContext, command: Command, act: (writ: Writ) => Promise<Webhook>): Promise<void> {
  return withWrit(context, command, async (writ) => print(context, command, await act(writ), webhookText));
}
