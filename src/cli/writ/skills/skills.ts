import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { hasCode, WritError } from "../../../core/errors.ts";
import { allowanceHelp, parseAllowance } from "../../../mcp/allowance.ts";
import { writePrivateFile } from "../../../runtime/files/private-file.ts";
import type { CliContext } from "../../context.ts";
import { collect } from "../../program.ts";
import { stableProgram } from "../../service/stable-program.ts";
import { programFlags } from "../../shared-options.ts";
import { confirm, yesOption } from "../../terminal/confirm.ts";
import { type AgentName, agentNames, settingsOf } from "./agent-settings.ts";
import { showChange } from "./show-change.ts";
import { skillText } from "./skill-text.ts";

type Flags = { agent?: AgentName[]; allow: string; yes?: boolean; dryRun?: boolean };

export function define(command: Command, context: CliContext): void {
  const install = command.command("install");
  install
    .description("tell coding agents of this user about Writ: a skill, and `writ mcp` in their settings")
    .addOption(
      new Option(
        "--agent <name>",
        `an agent; may be repeated (default: those that have run here); one of ${agentNames.join(", ")}`,
      ).argParser((name: string, before?: string[]) => collect(name, before)),
    )
    .option(
      "--allow <acts>",
      `what its tools may do beside reading: ${allowanceHelp}; or read for nothing`,
      "run,cancel",
    )
    .option("--dry-run", "only show what would change")
    .option(...yesOption)
    .addHelpText(
      "after",
      "\nIt shows the changes first. Settings that are there stay, and each changed file is copied beside itself before.\nNo token is written: the tools act as jobctl does here.",
    )
    .action((flags: Flags) => installSkills(context, install, flags));
}

type Change = { path: string; before: string | null; after: string };

async function installSkills(context: CliContext, command: Command, flags: Flags): Promise<void> {
  const { stdout } = context;
  const server = serverWords(context, command, flags);
  const names = chosen(context, flags.agent);
  const plans = await Promise.all(names.map((name) => plan(context, { name, server })));
  const changes = plans.flat();
  if (changes.length === 0) {
    stdout.write(`nothing to change: ${names.join(", ")} already know Writ\n`);
    return;
  }
  for (const { path, ...texts } of changes) stdout.write(showChange(path, texts));
  if (flags.dryRun) return;
  const question = `Change ${changes.length === 1 ? "this file" : `these ${changes.length} files`}?`;
  if (!(await confirm(context, { question, yes: flags.yes }))) return;
  for (const change of changes) await apply(context, change);
  stdout.write(`${names.join(", ")}: start anew to see the tools and the skill of Writ\n`);
}

/** The server as the settings start it, by paths that stay. */
function serverWords(context: CliContext, command: Command, { allow }: Flags): [string, ...string[]] {
  if (allow !== "read" && parseAllowance(allow) === undefined)
    throw new WritError("INVALID_ARGUMENT", `--allow: "${allow}" is not read, nor ${allowanceHelp}`);
  const given = programFlags<{ home: string; hub: string; token: string }>(command);
  if (given.token !== undefined)
    throw new WritError(
      "INVALID_ARGUMENT",
      "--token: no token is written into settings; put it into jobctl.yaml of --home",
    );
  const home = given.home ?? context.env["WRIT_HOME"];
  const [program, ...args] = programWords(context, "writ");
  return [
    program!,
    ...args,
    "mcp",
    ...(home ? ["--home", resolve(context.cwd, home)] : []),
    ...(given.hub === undefined ? [] : ["--hub", given.hub]),
    ...(allow === "read" ? [] : ["--allow", allow]),
  ];
}

function programWords(context: CliContext, name: "writ" | "jobctl"): string[] {
  if (context.checkout !== undefined) return [join(context.checkout, "bin", name)];
  const [node = "", file = ""] = stableProgram(context);
  return [node, join(dirname(file), `${name}.js`)];
}

function chosen({ userHome, env }: CliContext, given: readonly string[] | undefined): AgentName[] {
  const unknown = given?.find((name) => !isAgent(name));
  if (unknown !== undefined)
    throw new WritError("INVALID_ARGUMENT", `--agent: "${unknown}" is not one of ${agentNames.join(", ")}`);
  if (given !== undefined) return agentNames.filter((name) => given.includes(name));
  const found = agentNames.filter((name) => {
    const { folder, settings } = settingsOf(name, { userHome, env });
    return existsSync(folder) || existsSync(settings.path);
  });
  if (found.length > 0) return found;
  throw new WritError("INVALID_ARGUMENT", "--agent: no coding agent has run here as this user; name one", {
    advice: `one of ${agentNames.join(", ")}`,
  });
}

function isAgent(name: string): name is AgentName {
  return (agentNames as readonly string[]).includes(name);
}

async function plan(
  context: CliContext,
  { name, server }: { name: AgentName; server: [string, ...string[]] },
): Promise<Change[]> {
  const { settings, skill } = settingsOf(name, context);
  const [jobctl, writ] = (["jobctl", "writ"] as const).map((one) => programWords(context, one).join(" "));
  const file = await currentFile(settings.path);
  const skillFile = await currentFile(skill);
  const changes = [
    { ...file, after: settings.merge(file.before, server) },
    { ...skillFile, after: skillText({ jobctl: jobctl!, writ: writ! }) },
  ];
  return changes.filter(({ before, after }) => before !== after);
}

/** Settings are often links into a folder that is kept elsewhere; the file behind the link is changed. */
async function currentFile(path: string): Promise<{ path: string; before: string | null }> {
  try {
    const real = await realpath(path);
    return { path: real, before: await readFile(real, "utf8") };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { path, before: null };
    throw error;
  }
}

async function apply({ stdout }: CliContext, { path, before, after }: Change): Promise<void> {
  const { before: now } = await currentFile(path);
  if (now !== before)
    throw new WritError(
      "STATE_CONFLICT",
      `${path}: somebody else has changed it meanwhile; it is left as it is`,
    );
  await mkdir(dirname(path), { recursive: true });
  if (before !== null) {
    const copy = await freeName(`${path}.before-writ`);
    await copyFile(path, copy);
    stdout.write(`kept ${copy}\n`);
  }
  await writePrivateFile(path, after);
  stdout.write(`wrote ${path}\n`);
}

const copiesMax = 1000;

async function freeName(path: string): Promise<string> {
  for (let count = 1; count <= copiesMax; count++) {
    const name = count === 1 ? path : `${path}-${count}`;
    if (!existsSync(name)) return name;
  }
  throw new WritError("STATE_CONFLICT", `${path}: there are ${copiesMax} copies already; remove some`);
}
