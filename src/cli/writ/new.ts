import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Command, Option } from "commander";
import { codeOf, hasCode, WritError } from "../../core/errors.ts";
import type { CliContext } from "../context.ts";
import { print } from "../terminal/print.ts";
import { typedName } from "../typed-name.ts";

type Template = {
  command: string;
  file: string;
  isServer: boolean;
  /** The oldest Node that runs it. */
  nodeMin?: readonly [major: number, minor: number];
};

const languages = {
  js: { command: "node", file: "worker.mjs", isServer: true, nodeMin: [20, 0] },
  // From here on, Node runs TypeScript without a flag.
  ts: { command: "node", file: "worker.ts", isServer: true, nodeMin: [22, 18] },
  python: { command: "python3", file: "worker.py", isServer: true },
  sh: { command: "sh", file: "worker.sh", isServer: false },
} as const satisfies Record<string, Template>;
type Language = keyof typeof languages;

/** Where jobs look for commands, and what of it may have a Node. */
const commandDirs = ["/usr/local/bin", "/usr/bin", "/bin"];
/** The type of job in all templates. */
const templateType = "hello.v1";

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
      const { next, note } = await nextCommands(context, name, lang);
      const type = typeOf(name);
      const shown = { folder: name, language: lang, type, next, ...(note === undefined ? {} : { note }) };
      print(context, nested, shown, () => {
        const lines = next.map((line) => `  ${line}\n`).join("");
        const why = note === undefined ? "" : `${note}\n`;
        return `${name}/ is a worker for jobs of type ${type}. Next, copy it to where jobs see it, and submit one:\n${why}\n${lines}`;
      });
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
  const file = join(folder, languages[lang].file);
  await writeFile(file, (await readFile(file, "utf8")).replaceAll(templateType, typeOf(name)));
  if (lang !== "ts") return;
  const filter = (path: string): boolean => !path.endsWith(".test.ts");
  await cp(jobsLibrary, join(folder, "writ-jobs"), { recursive: true, filter });
}

function typeOf(name: string): string {
  return `${name}.v1`;
}

/** What jobs of the worker's machine see is in /opt, among other places. */
async function nextCommands(
  context: CliContext,
  name: string,
  lang: Language,
): Promise<{ next: string[]; note?: string }> {
  const { execPath, nodeVersion } = context;
  const { command, file, isServer, nodeMin }: Template = languages[lang];
  const how = isServer ? "--kind persistent_http --port 8101" : "--kind exec_per_job";
  const root = process.getuid?.() === 0 ? "" : "sudo ";
  const submit = (program: string): string =>
    `${typedName("jobctl", context)} submit ${typeOf(name)} --wait ${how} --input-json '{"name":"Ada"}' -- ${program} /opt/${name}/${file}`;
  const copy = `${root}cp -r ${name} /opt/`;
  const found = nodeMin === undefined ? undefined : await findNode();
  if (nodeMin === undefined || (found !== undefined && isAtLeast(found, nodeMin)))
    return { next: [copy, submit(command)] };
  const has =
    found === undefined ? "Jobs on this machine find no Node" : `Jobs on this machine find Node ${found}`;
  const note = `${has}, and ${file} needs ${nodeMin.join(".")} or newer: the second command copies the one that runs writ (${nodeVersion.replace(/^v/, "")}).`;
  const program = `/opt/${name}/node`;
  return { next: [copy, `${root}cp ${execPath} ${program}`, submit(program)], note };
}

/** The version of the Node that jobs of this machine find, such as 20.20.2. */
async function findNode(): Promise<string | undefined> {
  for (const dir of commandDirs) {
    const { stdout } = await promisify(execFile)(join(dir, "node"), ["--version"]).catch(() => ({
      stdout: "",
    }));
    const version = /^v(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
    if (version !== undefined) return version;
  }
  return undefined;
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [hasMajor = 0, hasMinor = 0] = version.split(".").map(Number);
  return hasMajor > major || (hasMajor === major && hasMinor >= minor);
}
