import { spawn } from "node:child_process";
import { hasCode, WritError } from "../../../core/errors.ts";
import type { CliContext } from "../../context.ts";
import { collectInput } from "../run/collect-input.ts";

type GitEnd = { code: number; stdout: string; stderr: string };
type GitCall = {
  input?: Buffer | undefined;
  /** More of the environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** How much it may answer (default: 1 MiB). */
  answerBytesMax?: number;
};

const answerBytesDefault = 1024 * 1024;
/** Which repository it is about is ours to say, not that of a hook around us. */
const foreign =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/;

/** Runs git in a directory, without the settings of a hook that may be around us. */
export async function runGit(
  { env, stops }: CliContext,
  cwd: string,
  args: readonly string[],
  call: GitCall = {},
): Promise<GitEnd> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !foreign.test(name)));
  const child = spawn("git", args, {
    cwd,
    env: { ...own, LC_ALL: "C", ...call.env },
    signal: stops.forced,
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) =>
      reject(
        hasCode(error, "ENOENT")
          ? new WritError(
              "CONFIG_INVALID",
              "git was not found; install it, or use `jobctl diff` with another tool",
            )
          : error,
      ),
    );
    child.once("close", (code) => resolve(code ?? 1));
  });
  // A git that refuses early closes its end before it has read everything.
  child.stdin.on("error", () => {});
  child.stdin.end(call.input);
  const bytesMax = call.answerBytesMax ?? answerBytesDefault;
  const [code, stdout, stderr] = await Promise.all([
    ended,
    collectInput(child.stdout, bytesMax),
    collectInput(child.stderr, answerBytesDefault),
  ]);
  return { code, stdout: String(stdout ?? ""), stderr: String(stderr ?? "") };
}

/** The same for a call that has to succeed: what it printed, without the end of the line. */
export async function askGit(
  context: CliContext,
  cwd: string,
  args: readonly string[],
  call?: GitCall,
): Promise<string> {
  const { code, stdout, stderr } = await runGit(context, cwd, args, call);
  if (code === 0) return stdout.replace(/\n$/, "");
  const [line = ""] = stderr.trim().split("\n");
  throw new WritError("STATE_CONFLICT", `git ${args[0]} failed: ${line.replace(/^(?:fatal|error): /, "")}`);
}
