import { join } from "node:path";
import { FolderObjects } from "../objects/folder/folder-objects.ts";
import type { Objects } from "../objects/objects.ts";
import { S3Objects } from "../objects/s3/s3-objects.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { s3SettingsOf } from "./settings/s3-settings.ts";
import type { HubSettings } from "./settings/settings.ts";

/** Opens the storage of files: the object store of the settings, or else the home. */
export async function openObjects(home: string, settings: HubSettings, clock: Clock): Promise<Objects> {
  const s3 = await s3SettingsOf(settings);
  return s3 === null ? new FolderObjects(join(home, "objects")) : new S3Objects(s3, clock);
}
