import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { WritError } from "../../core/errors.ts";
import { readPrivateFile } from "../../runtime/files/private-file.ts";
import type { CliContext } from "../context.ts";

const charsMin = 12;
/** More than anybody types, and far less than a large file that was named by mistake. */
const charsMax = 1_024;

export const passphraseOption = [
  "--passphrase-file <file>",
  "read the passphrase from this file, which only you may read, or from standard input with -",
] as const;

type PassphraseSource = {
  /** A private file, or `-` for standard input. When undefined, the passphrase is read from the terminal. */
  file: string | undefined;
  /** A new passphrase is typed twice and has a minimum length. */
  isNew: boolean;
};

/** Reads a passphrase from a file or the terminal, never from the command line, where other users could see it. */
export async function askPassphrase(context: CliContext, { file, isNew }: PassphraseSource): Promise<string> {
  const passphrase = file === undefined ? await fromTerminal(context, isNew) : await fromFile(context, file);
  const { length } = passphrase;
  if (length > charsMax) throw refused(`it has ${length} characters; at most ${charsMax} are allowed`);
  if (isNew && length < charsMin)
    throw refused(`it has ${length} characters; at least ${charsMin} are needed`);
  if (passphrase === "") throw refused("it is empty");
  return passphrase;
}

/** The first line. */
async function fromFile(context: CliContext, file: string): Promise<string> {
  const text =
    file === "-" ? await readText(context.stdin) : await readPrivateFile(resolve(context.cwd, file));
  if (text === null) throw new WritError("CONFIG_INVALID", `--passphrase-file: ${file} does not exist`);
  return text.split("\n", 1)[0]!.replace(/\r$/, "");
}

async function readText(stdin: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    pieces.push(Buffer.from(piece as Uint8Array));
    bytes += pieces.at(-1)!.length;
    if (bytes > 4 * charsMax) break;
  }
  return Buffer.concat(pieces).toString("utf8");
}

async function fromTerminal(context: CliContext, isNew: boolean): Promise<string> {
  if ((context.stdin as Partial<ReadStream>).isTTY !== true) {
    throw new WritError("INVALID_ARGUMENT", "no passphrase was given, and there is no terminal to ask at", {
      advice: "use --passphrase-file FILE, or --passphrase-file - to read it from standard input",
    });
  }
  const first = await readHidden(context, "passphrase: ");
  if (isNew && (await readHidden(context, "repeat the passphrase: ")) !== first) {
    throw refused("the two entries differ");
  }
  return first;
}

/** Asks on stderr and does not echo what is typed. */
async function readHidden({ stdin, stderr }: CliContext, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const line = createInterface({ input: stdin, output: nowhere, terminal: true });
  const cancelled = new AbortController();
  line.once("SIGINT", () => cancelled.abort());
  // Ctrl-D.
  line.once("close", () => cancelled.abort());
  stderr.write(question);
  try {
    return await line.question("", { signal: cancelled.signal });
  } catch {
    throw refused("none was entered");
  } finally {
    line.close();
    stderr.write("\n");
  }
}

function refused(why: string): WritError {
  return new WritError("INVALID_ARGUMENT", `the passphrase is not accepted: ${why}`);
}
