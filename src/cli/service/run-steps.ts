import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf, WritError } from "../../core/errors.ts";
import type { ServiceFile } from "./service-plan.ts";

const commandMs = 120_000;

export async function writeServiceFile({ path, text }: ServiceFile): Promise<void> {
  await asRoot(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o644 });
  });
}

export async function removeServiceFile(path: string): Promise<void> {
  await asRoot(path, () => rm(path, { force: true }));
}

async function asRoot(path: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    throw new WritError(
      "CONFIG_INVALID",
      `${path} cannot be changed (${codeOf(error)}); run this as root, or with --user for a service of your own`,
    );
  }
}

/** Asked before anything is written: without systemd, half an installation would be left behind. */
export async function requireManager(check: string[]): Promise<void> {
  const why = await failureOf(check);
  if (why === null) return;
  throw new WritError(
    "CONFIG_INVALID",
    `systemd does not answer here, so nothing was changed (${why}); --dry-run prints the unit`,
  );
}

export async function runServiceCommand(words: string[]): Promise<void> {
  const why = await failureOf(words);
  if (why !== null) throw new WritError("CONFIG_INVALID", `\`${words.join(" ")}\` failed: ${why}`);
}

/** The first line of what it complains about, or null. */
async function failureOf([program = "", ...words]: string[]): Promise<string | null> {
  try {
    await promisify(execFile)(program, words, { timeout: commandMs });
    return null;
  } catch (error) {
    const { stderr = "", message } = error as { stderr?: string; message: string };
    const [why = message] = stderr.trim().split("\n").filter(Boolean);
    return why;
  }
}
