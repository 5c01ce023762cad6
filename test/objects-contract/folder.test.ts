import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderObjects } from "../../src/objects/folder/folder-objects.ts";
import { describeHubServed } from "./describe-hub-served.ts";

describeHubServed("a folder", () => {
  const root = mkdtempSync(join(tmpdir(), "writ-objects-"));
  return {
    open: () => new FolderObjects(root),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
});
