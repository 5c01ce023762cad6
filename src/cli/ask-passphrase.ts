import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { WritError } from "../core/errors.ts";
import { readPrivateFile } from "../runtime/private-file.ts";
import type { CliContext } from "./context.ts";

const charsMin = 12;
/** More than anybody types, and far less than a file that was named by mistake. */
const charsMax = 1_024;

export const passphraseOption = [
  "--passphrase-file <file>",
  "read the passphrase from a private file, or with - from the standard input",
] as const;

export type PassphraseSource = {
  /** A private file, or `-` for the standard input; without it, the person at the terminal is asked. */
  file: string | undefined;
  /** A new one is typed twice, and must not be short. */
  isNew: boolean;
};

/** A passphrase, from a file or a person; never from the command line, where everybody could read it. */
export async function askPassphrase(context: CliContext, { file, isNew }: PassphraseSource): Promise<string> {
  const passphrase = file === undefined ? await fromPerson(context, isNew) : await fromFile(context, file);
  if (passphrase.length > charsMax) throw refused(`it may have ${charsMax} characters at most`);
  if (isNew && passphrase.length < charsMin) throw refused(`it must have at least ${charsMin} characters`);
  if (passphrase === "") throw refused("it is empty");
  return passphrase;
}

/** The first line. */
async function fromFile(context: CliContext, file: string): Promise<string> {
  const text =
    file === "-" ? await readText(context.stdin) : await readPrivateFile(resolve(context.cwd, file));
  if (text === null) throw new WritError("CONFIG_INVALID", `${file} does not exist`);
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

async function fromPerson(context: CliContext, isNew: boolean): Promise<string> {
  if ((context.stdin as Partial<ReadStream>).isTTY !== true) {
    throw new WritError("INVALID_ARGUMENT", "there is nobody to ask for the passphrase", {
      advice: "give it with --passphrase-file, or `-` there for the standard input",
    });
  }
  const first = await typeUnseen(context, "passphrase: ");
  if (isNew && (await typeUnseen(context, "the same again: ")) !== first) throw refused("the two differ");
  return first;
}

/** The question goes to the person, and what is typed to nobody's screen. */
async function typeUnseen({ stdin, stderr }: CliContext, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const line = createInterface({ input: stdin, output: nowhere, terminal: true });
  const givenUp = new AbortController();
  line.once("SIGINT", () => givenUp.abort());
  // Ctrl-D.
  line.once("close", () => givenUp.abort());
  stderr.write(question);
  try {
    return await line.question("", { signal: givenUp.signal });
  } catch {
    throw refused("none was given");
  } finally {
    line.close();
    stderr.write("\n");
  }
}

function refused(why: string): WritError {
  return new WritError("INVALID_ARGUMENT", `the passphrase is refused: ${why}`);
}
