import type { Command } from "commander";
import type { Hook, HookInput, Writ } from "../../../client/index.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { listByDefault, parsed } from "../../program.ts";
import { parseDuration } from "../../terminal/duration.ts";
import { print } from "../../terminal/print.ts";
import { printRows } from "../../terminal/print-rows.ts";
import type { Column } from "../../terminal/table.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { readOrder } from "../submit/read-order.ts";

export function define(command: Command, context: CliContext): void {
  defineList(listByDefault(command), context);
  defineShow(command.command("show"), context);
  definePut(command.command("put"), context);
  defineRemove(command.command("remove"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the hooks, and where each is called").action(() =>
    withWrit(context, command, async ({ hooks }) => {
      const rows: Hook[] = [];
      for await (const hook of hooks.list()) rows.push(hook);
      await printRows(context, command, { rows, columns, none: "no hooks" });
    }),
  );
}

const columns: Column<Hook>[] = [
  { title: "NAME", cell: ({ name }) => name, minWidth: 12 },
  { title: "PATH", cell: ({ path }) => path, minWidth: 12 },
  { title: "VERIFY", cell: proofText },
  { title: "TYPE", cell: ({ job }) => String(job?.["type"] ?? "-") },
  { title: "USER", cell: ({ user_id }) => user_id, isOptional: true },
];

function defineShow(command: Command, context: CliContext): void {
  command
    .description("show a hook, and where it is called")
    .argument("<name>", "the name of the hook")
    .action((name: string) => show(context, command, (writ) => writ.hooks.get(name)));
}

type PutFlags = { file?: string; type?: string; verify?: string; tolerance?: number };

function definePut(command: Command, context: CliContext): void {
  const duration = parsed(parseDuration, "a time such as 30s, 10m or 1h");
  command
    .description("create or change a hook; the secret of a new one is shown once")
    .argument("<name>", "the name of the hook")
    .argument("[command...]", "the command that each job runs, after --")
    .option(
      "--file <file>",
      "a hook with any field of PUT /hooks/NAME, as YAML or JSON, or - for standard input",
    )
    .option("--type <type>", "the type of the jobs (default: exec)")
    .option("--verify <how>", "standard-webhooks, github, or the header with an HMAC-SHA256 of the body")
    .option("--tolerance <time>", "how old a call may be (default: 5m)", duration)
    .action((name: string, before: string[], flags: PutFlags) =>
      show(context, command, async (writ) =>
        writ.hooks.put(name, await describe(context, [...before, ...(context.words ?? [])], flags)),
      ),
    );
}

async function describe(context: CliContext, words: string[], flags: PutFlags): Promise<HookInput> {
  const order = await readOrder(context, "hook", { words, flags });
  const given = {
    ...(flags.verify === undefined ? {} : { verify: proofOf(flags.verify) }),
    ...(flags.tolerance === undefined ? {} : { tolerance_sec: flags.tolerance / 1_000 }),
  };
  // What the file holds is checked by the hub, which names the field.
  return { ...order, ...given } as HookInput;
}

function proofOf(how: string): HookInput["verify"] {
  return how === "github" || how === "standard-webhooks" ? how : { hmac_sha256_header: how };
}

function defineRemove(command: Command, context: CliContext): void {
  command
    .description("remove a hook; its jobs stay")
    .argument("<name>", "the name of the hook")
    .action((name: string) =>
      withWrit(context, command, async (writ) => {
        await writ.hooks.remove(name);
        const result = `${name} is removed`;
        print(context, command, { name, result }, () => `${neutraliseLine(result)}\n`);
      }),
    );
}

function show(context: CliContext, command: Command, act: (writ: Writ) => Promise<Hook>): Promise<void> {
  return withWrit(context, command, async (writ) => print(context, command, await act(writ), hookText));
}

function hookText(hook: Hook): string {
  const { name, state, path, user_id, tolerance_sec, job, secret } = hook;
  const lines = [
    `name:       ${name}`,
    `state:      ${state}`,
    `path:       ${path}`,
    `user:       ${user_id}`,
    `verify:     ${proofText(hook)}, within ${tolerance_sec} s`,
    `job:        ${JSON.stringify(job)}`,
    ...(secret === undefined ? [] : [`secret:     ${secret}`, "            It is shown only now."]),
  ];
  return lines.map((line) => `${neutraliseLine(line)}\n`).join("");
}

function proofText({ verify }: Hook): string {
  return typeof verify === "string" ? verify : verify.hmac_sha256_header;
}
