import { WritError } from "../../core/errors.ts";
import type { SettingParser } from "./setting-parsers.ts";
import { similarWord } from "./similar-word.ts";
import type { YamlFile } from "./yaml-file.ts";

export {
  boolean,
  integer,
  jsonList,
  number,
  oneOf,
  parser,
  text,
} from "./setting-parsers.ts";

type Setting<T = unknown> = {
  /** The environment variable. */
  name: string;
  /** The key in the file; by default the name in lower case without WRIT_. null: not allowed in a file. */
  key?: string | null;
  parse: SettingParser<T>;
  default: T | undefined | null;
  /** Its value is never shown, not even in an error. */
  isSecret?: boolean;
  /** What to do about an empty value, if it is refused even in the environment, where it usually means "not set". */
  whenEmpty?: string;
};

/** Each setting once, under the name that the program uses: `{ leaseMs: { name: "WRIT_LEASE_MS", … } }`. */
type Settings = Readonly<Record<string, Setting>>;

export type SettingValues<D extends Settings> = {
  [K in keyof D]: Exclude<ReturnType<D[K]["parse"]>, undefined> | Extract<D[K]["default"], undefined | null>;
};

type SettingSources<D extends Settings> = {
  /** Under the same names as the declarations, which are also commander's names. */
  flags?: { readonly [K in keyof D]?: unknown };
  env: Readonly<Record<string, string | undefined>>;
  file?: YamlFile | undefined;
  /** Keys that the file may have beside these settings; the caller has taken them out. */
  otherKeys?: readonly string[];
};

/** Flag, then environment, then file, then default. The first value that is not allowed stops the start. */
export function loadSettings<D extends Settings>(settings: D, sources: SettingSources<D>): SettingValues<D> {
  if (sources.file !== undefined) refuseUnknownKeys(settings, sources.file, sources.otherKeys ?? []);
  const values = Object.entries(settings).map(([property, setting]) => {
    // A wrong value is refused even if a stronger source overrides it, because it would cause trouble later.
    const found = [
      fromFlag(property, setting, sources.flags?.[property]),
      fromEnvironment(setting, sources.env),
      fromFile(setting, sources.file),
    ].filter((value) => value !== undefined);
    return [property, found.length > 0 ? found[0] : setting.default];
  });
  return Object.fromEntries(values) as SettingValues<D>;
}

/** A setting for people: its value, unless it is secret, and where that came from. */
export type ShownSetting = { name: string; value: unknown; isSecret: boolean; from: SettingSource };
const settingSources = ["flag", "environment", "file", "default"] as const;
type SettingSource = (typeof settingSources)[number];

/** Every setting by its name. Of a secret, the value is null whether or not it is set; `from` says that. */
export function showSettings<D extends Settings>(settings: D, sources: SettingSources<D>): ShownSetting[] {
  const values = loadSettings(settings, sources);
  return Object.entries(settings).map(([property, setting]) => ({
    name: setting.name,
    value: setting.isSecret ? null : (values[property] ?? null),
    isSecret: setting.isSecret === true,
    from: sourceOf(property, setting, sources),
  }));
}

function sourceOf(property: string, setting: Setting, sources: SettingSources<Settings>): SettingSource {
  if (sources.flags?.[property] !== undefined) return "flag";
  if (fromEnvironment(setting, sources.env) !== undefined) return "environment";
  return fromFile(setting, sources.file) === undefined ? "default" : "file";
}

function fromFlag(property: string, setting: Setting, value: unknown): unknown {
  if (value === undefined) return undefined;
  const flag = `--${property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return parseOrRefuse(setting, value, flag);
}

function fromEnvironment(setting: Setting, env: Readonly<Record<string, string | undefined>>): unknown {
  const value = env[setting.name];
  // Shells and compose files use an empty variable for "not set".
  if (value === undefined || (value === "" && setting.whenEmpty === undefined)) return undefined;
  return parseOrRefuse(setting, value, setting.name);
}

function fromFile(setting: Setting, file: YamlFile | undefined): unknown {
  if (file === undefined) return undefined;
  const [key, second] = fileKeys(setting).filter((candidate) => Object.hasOwn(file.data, candidate));
  if (key === undefined) return undefined;
  if (second !== undefined) {
    throw new WritError(
      "CONFIG_INVALID",
      `${at(file, second)}${second} and ${key} are the same setting; keep one`,
    );
  }
  return parseOrRefuse(setting, file.data[key], key, at(file, key));
}

/** A file may also use the environment's name, because that is the name in every table of the documentation. */
function fileKeys(setting: Setting): string[] {
  if (setting.key === null) return [];
  return [setting.key ?? setting.name.replace(/^WRIT_/, "").toLowerCase(), setting.name];
}

function refuseUnknownKeys(settings: Settings, file: YamlFile, otherKeys: readonly string[]): void {
  const known = new Set(Object.values(settings).flatMap(fileKeys));
  for (const key of Object.keys(file.data)) {
    if (known.has(key)) continue;
    const usual = Object.values(settings).flatMap((setting) => fileKeys(setting).slice(0, 1));
    const allowed = [...usual, ...otherKeys];
    const meant = similarWord(key, [...allowed, ...known]);
    const question = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    throw new WritError(
      "CONFIG_INVALID",
      `${at(file, key)}unknown key ${show(key)} = ${showUnknown(file.data[key])}${question}; allowed are ${allowed.join(", ")}`,
    );
  }
}

function parseOrRefuse(setting: Setting, value: unknown, shownName: string, place = ""): unknown {
  const parsed = setting.parse(value);
  if (parsed !== undefined) return parsed;
  if (value === "" && setting.whenEmpty !== undefined) {
    throw new WritError("CONFIG_INVALID", `${place}${shownName} is empty; ${setting.whenEmpty}`, {
      setting: setting.name,
    });
  }
  const shown = setting.isSecret ? "***" : show(value);
  throw new WritError(
    "CONFIG_INVALID",
    `${place}${shownName}: ${shown} is not allowed; use ${setting.parse.allowed}`,
    {
      setting: setting.name,
    },
  );
}

function at(file: YamlFile, key: string): string {
  return `${file.path}:${file.lineOf([key]) ?? 1}: `;
}

// Long enough to recognise the value, short enough for one readable line.
const shownCharsMax = 80;

/** JSON keeps line breaks and control characters out of the line. */
function show(value: unknown): string {
  const shown = JSON.stringify(value) ?? String(value);
  return shown.length > shownCharsMax ? `${shown.slice(0, shownCharsMax)}…` : shown;
}

/** The value of a misspelt key may be a secret, so only its kind is shown. */
function showUnknown(value: unknown): string {
  if (typeof value === "string") return `(text of ${value.length} characters)`;
  return typeof value === "object" && value !== null ? "(a list or mapping)" : show(value);
}
