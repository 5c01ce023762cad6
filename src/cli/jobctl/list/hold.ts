import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { changeEach } from "./change-each.ts";

export function define(command: Command, context: CliContext): void {
  changeEach(command, context, { change: (writ, id) => writ.hold(id), done: "is held" });
}
