import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { changeEach } from "./change-each.ts";

export function define(command: Command, context: CliContext): void {
  changeEach(command, context, { change: (writ, id) => writ.resume(id), done: "is not held" });
}
