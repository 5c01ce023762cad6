import { open } from "node:fs/promises";

/** A file name is durable only when its folder is synced. */
export async function syncDir(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}
