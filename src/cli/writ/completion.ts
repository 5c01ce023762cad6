import type { Command } from "commander";
import { defineCompletion } from "../completion/define-completion.ts";
import type { CliContext } from "../context.ts";

export function define(command: Command, context: CliContext): void {
  defineCompletion(command, context);
}
