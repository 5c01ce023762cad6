import { z } from "zod";
import { quota } from "../../contract/shapes/admin-shapes.ts";
import { tenantId, userId } from "../../contract/shapes/fields.ts";
import { WritError } from "../../core/errors.ts";
import type { ShownSetting } from "../../runtime/settings/settings.ts";
import type { YamlFile } from "../../runtime/settings/yaml-file.ts";
import { plainIssue } from "../use-cases/access/plain-issue.ts";

const entriesMax = 10_000;
const name = z.string().min(1, "must not be empty").max(4096);
const names = z.array(name).max(entriesMax);

/** Settings that are too large for a variable exist only in writ.yaml. */
const shapes = {
  /** Which commands jobs may run: `deny` for all users, and more for single users. */
  commands: z.strictObject({
    deny: names.optional(),
    users: z.record(userId, z.strictObject({ allow: names.optional(), deny: names.optional() })).optional(),
  }),
  /** The names in certificates that are accepted; by default every certificate of a trusted authority. */
  users: z.array(userId).max(entriesMax),
  /** Quotas by tenant, in the form of PUT /tenants/:id/quota. */
  quotas: z.record(tenantId, quota),
} as const;

type Key = keyof typeof shapes;
export const fileSettingKeys = Object.keys(shapes);

export type FileSettings = { [K in Key]: z.infer<(typeof shapes)[K]> | null };

/** Takes these settings out of the file and returns the rest for the ordinary settings. */
export function takeFileSettings(file: YamlFile | undefined): {
  taken: FileSettings;
  rest: YamlFile | undefined;
} {
  if (file === undefined) return { taken: { commands: null, users: null, quotas: null }, rest: undefined };
  const { commands, users, quotas, ...data } = file.data;
  return {
    taken: {
      commands: parse(file, "commands", commands),
      users: parse(file, "users", users),
      quotas: parse(file, "quotas", quotas),
    },
    rest: { ...file, data },
  };
}

export function showFileSettings(taken: FileSettings): ShownSetting[] {
  return Object.entries(taken).map(([name, value]) => ({
    name,
    value,
    isSecret: false,
    from: value === null ? "default" : "file",
  }));
}

function parse<K extends Key>(file: YamlFile, key: K, value: unknown): FileSettings[K] {
  // A key without a value, for example above a commented-out list.
  if (value === undefined || value === null) return null;
  const parsed = shapes[key].safeParse(value, { error: plainIssue });
  if (parsed.success) return parsed.data as FileSettings[K];
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [key, ...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])] as (
    | string
    | number
  )[];
  const message = unknown === undefined ? issue?.message : "is an unknown key";
  const line = file.lineOf(path) ?? file.lineOf([key]) ?? 1;
  throw new WritError("CONFIG_INVALID", `${file.path}:${line}: ${path.join(".")}: ${message}`);
}
