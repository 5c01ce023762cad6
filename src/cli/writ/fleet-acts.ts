import type { Command } from "commander";
import { type Worker, type Writ, WritError } from "../../client/index.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { confirm, yesOption } from "../terminal/confirm.ts";
import { print } from "../terminal/print.ts";
import { printRows } from "../terminal/print-rows.ts";
import { neutraliseLine } from "../terminal/terminal.ts";
import { workerColumns } from "../terminal/worker-columns.ts";

const idsHelp =
  "the worker's id, as `writ workers list` shows it; several are done one after the other, and one that fails stops no other";

export function defineList(command: Command, context: CliContext): void {
  command.description("list the workers: what they do, accept and have done").action(() =>
    withWrit(context, command, async (writ) => {
      const columns = workerColumns(Date.now());
      const none = "no workers; add one with `writ workers add NAME`";
      await printRows(context, command, { rows: await writ.workers(), columns, none });
    }),
  );
}

const acts = {
  drain: {
    help: "let workers finish their jobs and give them no more",
    run: (writ: Writ, id: string) => writ.fleet.drainWorker(id),
  },
  undrain: {
    help: "give drained workers jobs again",
    run: (writ: Writ, id: string) => writ.fleet.undrainWorker(id),
  },
  block: {
    help: "give workers no more jobs and refuse their reports; a block lasts until you lift it",
    run: (writ: Writ, id: string) => writ.fleet.blockWorker(id),
  },
  unblock: {
    help: "lift the block of workers; this also ends a drain",
    run: (writ: Writ, id: string) => writ.fleet.unblockWorker(id),
  },
} as const;

/** drain, undrain, block and unblock differ only in the call. */
export function defineActs(workers: Command, context: CliContext): void {
  for (const [name, { help, run }] of Object.entries(acts)) {
    const command = workers.command(name).description(help).argument("<id...>", idsHelp);
    command.action((ids: string[]) =>
      withWrit(context, command, async (writ) => {
        await forEachWorker(context, ids, async (id) =>
          print(context, command, await run(writ, id), sayState),
        );
      }),
    );
  }
}

/** One that is refused is reported and stops no other; the first failure decides the exit code. */
async function forEachWorker(
  context: CliContext,
  ids: readonly string[],
  act: (id: string) => Promise<void>,
): Promise<void> {
  for (const id of ids) {
    try {
      await act(id);
    } catch (error) {
      if (!(error instanceof WritError)) throw error;
      const exitCode = reportError(context, error);
      if (context.exitCode === 0) context.exitCode = exitCode;
    }
  }
}

function sayState({ id, status, current_jobs: jobs }: Worker): string {
  const rest = jobs !== null && jobs > 0 && status !== "active" ? ` and still holds ${jobsText(jobs)}` : "";
  return `${neutraliseLine(id)} is ${status}${rest}\n`;
}

export function defineRemove(command: Command, context: CliContext): void {
  command
    .description("remove workers from the list; their jobs go back as if their leases had expired")
    .argument("<id...>", idsHelp)
    .option(...yesOption)
    .action((ids: string[], { yes }: { yes?: boolean }) =>
      withWrit(context, command, async (writ) => {
        await forEachWorker(context, ids, (id) => remove(writ, { context, command, id, yes }));
      }),
    );
}

type Removal = { context: CliContext; command: Command; id: string; yes: boolean | undefined };

async function remove(writ: Writ, { context, command, id, yes }: Removal): Promise<void> {
  const { status, current_jobs } = await writ.fleet.worker(id);
  // Of a worker that its caller may not remove, it may be hidden; the hub then refuses.
  const jobs = current_jobs ?? 0;
  const name = neutraliseLine(id);
  const question = `${name} holds ${jobsText(jobs)}, and each that has started loses an attempt. Remove it?`;
  if (jobs > 0 && !(await confirm(context, { question, yes }))) return;
  await writ.fleet.removeWorker(id);
  print(context, command, { id, removed: status !== "blocked" }, ({ removed }) =>
    removed ? `${name} is removed\n` : `${name} stays in the list, because its block must last\n`,
  );
  const advice = status === "blocked" ? `unblock it first: writ workers unblock ${name}` : stillThere[status];
  if (advice !== undefined) context.stderr.write(`note: ${advice}\n`);
}

/** A worker whose process still runs comes back by itself. */
const stillThere: Partial<Record<Worker["status"], string>> = {
  active:
    "it registers again while its process runs; stop the process, or revoke its token with `writ tokens revoke`",
  draining: "it registers again while its process runs; stop the process first",
};

function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count} jobs`;
}
