import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, hasCode, WritError } from "../../core/errors.ts";
import type { Segments } from "../segments.ts";
import { asObjectError } from "./object-error.ts";
import { readBytes } from "./read-bytes.ts";
import { syncDir } from "./sync-dir.ts";

const markName = ".writ-outputs";
const writing = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * Keeps segments in a folder that all hubs share: `<two digits>/<id>`, and a mark by which it is recognised.
 * Why: ADR 0085.
 */
export class FolderSegments implements Segments {
  readonly #root: string;
  readonly #mark: string;

  private constructor(root: string, mark: string) {
    this.#root = root;
    this.#mark = mark;
  }

  /**
   * `agree` proposes a mark to the hubs of the database and returns theirs. A folder with another mark is a different one:
   * no other hub could read what is written there.
   */
  static async open(root: string, agree: (mark: string) => Promise<string>): Promise<FolderSegments> {
    const found = await readMark(root);
    const mark =
      found ?? (await makeMark(root).catch((error) => refuse(`${root} cannot be used: ${codeOf(error)}`)));
    if ((await agree(mark)) === mark) return new FolderSegments(root, mark);
    if (found === null) await rm(join(root, markName), { force: true });
    return refuse(
      `${root} is not the folder in which the hubs of this database keep output; mount the same folder on every machine`,
    );
  }

  async put(id: string, bytes: Buffer): Promise<void> {
    const path = this.#pathOf(id);
    try {
      await this.#checkMark();
      const firstNew = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      if (firstNew !== undefined) await syncDir(this.#root);
      await writeDurably(path, bytes);
      await syncDir(dirname(path));
    } catch (error) {
      // The first error is the one to report.
      await rm(path, { force: true }).catch(() => {});
      throw asObjectError(error, path);
    }
  }

  async read(id: string, range: { start: number; end: number }): Promise<Buffer> {
    if (range.start >= range.end) return Buffer.alloc(0);
    const pieces = await Array.fromAsync(readBytes(this.#pathOf(id), range));
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  async remove(id: string): Promise<void> {
    const path = this.#pathOf(id);
    try {
      // In another folder there is nothing to remove, and the object would stay for ever.
      await this.#checkMark();
      await rm(path, { force: true });
    } catch (error) {
      throw asObjectError(error, path);
    }
  }

  /** A folder that is not mounted any more is an empty one on the disk of this machine. */
  async #checkMark(): Promise<void> {
    if ((await readMark(this.#root)) === this.#mark) return;
    throw new WritError("FILES_UNAVAILABLE", "the folder that all hubs share is not there; is it mounted?", {
      path: this.#root,
    });
  }

  #pathOf(id: string): string {
    return join(this.#root, id.slice(0, 2), id);
  }
}

async function readMark(root: string): Promise<string | null> {
  try {
    return (await readFile(join(root, markName), "utf8")).trim();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** Of several hubs that start at once, one makes it, and none sees half of it. */
async function makeMark(root: string): Promise<string> {
  const mark = randomUUID();
  const own = join(root, `${markName}.${mark}`);
  try {
    await writeDurably(own, Buffer.from(`${mark}\n`));
    await link(own, join(root, markName));
    await syncDir(root);
    return mark;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    return (await readMark(root)) ?? mark;
  } finally {
    await rm(own, { force: true });
  }
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, writing, 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function refuse(problem: string): never {
  throw new WritError("CONFIG_INVALID", `WRIT_OUTPUTS_DIR: ${problem}`, { setting: "WRIT_OUTPUTS_DIR" });
}
