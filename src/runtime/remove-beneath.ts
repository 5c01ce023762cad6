import { type FileHandle, rmdir, unlink } from "node:fs/promises";
import { pathOf } from "./open-beneath.ts";
import { walkBeneath } from "./walk-beneath.ts";

/** Removes a path beneath a directory, with everything below it; goes through no link, and may be gone already. */
export async function removeBeneath(base: FileHandle, path: string): Promise<void> {
  const dirs: string[] = [];
  await walkBeneath(base, path, {
    async visit({ dir, name, path: at, status }) {
      if (status.isDirectory()) dirs.push(at);
      else await unlink(`${pathOf(dir)}/${name}`);
      return;
    },
    leaveOut: () => {},
  });
  // What is inside of a directory was seen after it.
  for (const dir of dirs.reverse()) await removeDirectory(base, dir);
}

async function removeDirectory(base: FileHandle, path: string): Promise<void> {
  await walkBeneath(base, path, {
    async visit({ dir, name }) {
      await rmdir(`${pathOf(dir)}/${name}`);
      return "skip";
    },
    leaveOut: () => {},
  });
}
