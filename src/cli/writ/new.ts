import { chmod, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { codeOf, hasCode, WritError } from "../../core/errors.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";

const languages = {
  js: { command: "node", file: "worker.mjs", isServer: true },
  ts: { command: "node", file: "worker.ts", isServer: true },
  python: { command: "python3", file: "worker.py", isServer: true },
  sh: { command: "sh", file: "worker.sh", isServer: false },
} as const;
type Language = keyof typeof languages;

const templates = join(import.meta.dirname, "../../../templates/worker");
const jobsLibrary = join(import.meta.dirname, "../../jobs");

export function define(command: Command, context: CliContext): void {
  command
    .command("worker")
    .description("make a folder with a worker of your own, ready to run")
    .argument("<name>", "the name of the folder, which must not exist yet")
    .addOption(
      new Option("--lang <language>", "the language to write it in")
        .choices(Object.keys(languages))
        .default("js"),
    )
    .action(async (name: string, { lang }: { lang: Language }, nested: Command) => {
      await makeWorker(context, name, lang);
      const next = nextCommands(name, lang);
      print(
        context,
        nested,
        { folder: name, language: lang, next },
        () =>
          `${name}/ is a worker for jobs of type hello.v1. Next, copy it to where jobs see it, and submit one:\n\n${next.map((line) => `  ${line}\n`).join("")}`,
      );
    });
}

async function makeWorker({ cwd }: CliContext, name: string, lang: Language): Promise<void> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    const allowed = "1 to 64 letters, digits, . _ or -, beginning with a letter or a digit";
    throw new WritError("INVALID_ARGUMENT", `name: ${JSON.stringify(name)} is not a name; use ${allowed}`);
  }
  const folder = join(cwd, name);
  try {
    await mkdir(folder);
  } catch (error) {
    const problem = hasCode(error, "EEXIST")
      ? "exists already; choose another name"
      : `cannot be made (${codeOf(error)})`;
    throw new WritError("INVALID_ARGUMENT", `name: ${name} ${problem}`);
  }
  // Jobs run as another user, whatever the umask is here.
  await chmod(folder, 0o755);
  await cp(join(templates, lang), folder, { recursive: true });
  if (lang !== "ts") return;
  const filter = (path: string): boolean => !path.endsWith(".test.ts");
  await cp(jobsLibrary, join(folder, "writ-jobs"), { recursive: true, filter });
}

/** What jobs of the worker's machine see is in /opt, among other places. */
function nextCommands(name: string, lang: Language): string[] {
  const { command, file, isServer } = languages[lang];
  const how = isServer ? "--kind persistent_http --port 8101" : "--kind exec_per_job";
  const root = process.getuid?.() === 0 ? "" : "sudo ";
  return [
    `${root}cp -r ${name} /opt/`,
    `jobctl submit hello.v1 --wait ${how} --input-json '{"name":"Ada"}' -- ${command} /opt/${name}/${file}`,
  ];
}
