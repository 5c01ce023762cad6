import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { WritError } from "../../../client/index.ts";
import { codeOf } from "../../../core/errors.ts";

export type CopyFlags = { stdout?: string; stderr?: string; artifact?: string[] };

/** SHA-256 of copies that the caller has, to be compared with the receipt. */
export type Copies = {
  stdout: string | undefined;
  stderr: string | undefined;
  /** By the key of the output file. */
  artifacts: Map<string, string>;
};

export async function hashCopies(cwd: string, flags: CopyFlags): Promise<Copies> {
  const artifacts = new Map<string, string>();
  for (const given of flags.artifact ?? []) {
    const { key, path } = splitArtifact(given);
    artifacts.set(key, await hashFile(resolve(cwd, path)));
  }
  const hashOf = async (path: string | undefined) =>
    path === undefined ? undefined : hashFile(resolve(cwd, path));
  return { stdout: await hashOf(flags.stdout), stderr: await hashOf(flags.stderr), artifacts };
}

function splitArtifact(given: string): { key: string; path: string } {
  // A key may hold an equals sign; the path on this machine is what the caller can choose.
  const at = given.lastIndexOf("=");
  if (at < 1 || at === given.length - 1) {
    throw new WritError(
      "INVALID_ARGUMENT",
      `--artifact: "${given}" is not KEY=FILE, such as report.pdf=./copy.pdf`,
    );
  }
  return { key: given.slice(0, at), path: given.slice(at + 1) };
}

export async function hashFile(path: string): Promise<string> {
  const made = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) made.update(chunk as Buffer);
  } catch (error) {
    throw unreadable(path, error);
  }
  return made.digest("hex");
}

export function unreadable(path: string, error: unknown): WritError {
  return new WritError("NOT_FOUND", `${path} cannot be read (${codeOf(error)})`, {
    advice: "check the path",
  });
}
