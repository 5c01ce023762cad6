import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";

/** The administrator's token in the home, where the commands of the same person find it. */
export async function readHomeToken(home: string): Promise<string | null> {
  return (await readPrivateFile(pathOf(home)))?.trim() || null;
}

export async function writeHomeToken(home: string, secret: string): Promise<void> {
  await writePrivateFile(pathOf(home), `${secret}\n`);
}

function pathOf(home: string): string {
  return join(home, "admin.token");
}
