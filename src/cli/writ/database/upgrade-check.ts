import type { Command } from "commander";
import { formatBytes } from "../../../core/text/format-bytes.ts";
import { describeDuration, planUpgrade } from "../../../hub/admin.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { examineServices } from "../../service/examine-services.ts";
import { print } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  command.action(async () => {
    const home = findHome(context, command);
    const plan = await planUpgrade({ home, env: context.env });
    const services = examineServices(context.userHome).filter(({ state }) => state !== "ok");
    print(context, command, { home, version: context.version, ...plan, services }, () => {
      const lines = services.map(({ says }) => `${neutraliseLine(says)}\n`);
      return `${describePlan(plan, context.version)}${lines.join("")}`;
    });
    const isStopped = services.some(({ state }) => state === "problem");
    const isShort = plan.take_over !== null && plan.take_over.free_bytes < plan.take_over.needed_bytes;
    if (plan.refusal !== null || isStopped || isShort) context.exitCode = 1;
  });
}

function describePlan(
  { schema, newest, steps, database, refusal, take_over }: Awaited<ReturnType<typeof planUpgrade>>,
  version: string,
): string {
  if (refusal !== null) return `A hub would refuse the database ${database}: ${neutraliseLine(refusal)}.\n`;
  if (schema === null)
    return `The database ${database} is empty or does not exist yet; the next start gives it schema ${newest}.\n`;
  if (schema > newest)
    return `The database has schema ${schema}, and this program (${version}) knows ${newest}: it would refuse to start. Use the newer program.\n`;
  if (take_over !== null) {
    const { rows, estimated_ms, needed_bytes, free_bytes } = take_over;
    const room =
      free_bytes < needed_bytes
        ? `Only ${formatBytes(free_bytes)} are free there: make room first, or the start refuses and changes nothing.\n`
        : "";
    return [
      `The next start would put the jobs of ${database} into another form, once: ${rows} rows, ${describeDuration(estimated_ms)} on this machine, by a sample.\n`,
      `It needs ${formatBytes(needed_bytes)} of disk beside the database until it is verified. If it is interrupted, the next start continues.\n`,
      room,
      "There is no way back: take a backup first, with `writ backup FILE`.\n",
    ].join("");
  }
  if (steps.length === 0)
    return `The database has schema ${schema}, the newest: the next start changes nothing.\n`;
  const lines = steps.map((step) => `  ${step}\n`).join("");
  return `The next start would change the database from schema ${schema} to ${newest}:\n${lines}There is no way back: take a backup first, with \`writ backup FILE\`.\n`;
}
