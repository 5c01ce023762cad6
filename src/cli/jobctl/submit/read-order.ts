import { WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { readJobFile } from "./read-json.ts";

type OrderFlags = { file?: string; type?: string };

/** What makes jobs, such as a schedule: its fields from --file, and its job from there or from the command after --. */
export async function readOrder(
  context: CliContext,
  what: "schedule" | "hook",
  { words, flags }: { words: string[]; flags: OrderFlags },
): Promise<Record<string, unknown>> {
  const file = flags.file === undefined ? {} : await readJobFile(context, flags.file);
  const type = flags.type ?? "exec";
  const job = words.length === 0 ? file["job"] : { type, run: { kind: "exec", argv: words } };
  if (job !== undefined) return { ...file, job };
  const advice = `write it after --, or give a ${what} with --file`;
  throw new WritError("INVALID_ARGUMENT", `no command given; ${advice}`);
}
