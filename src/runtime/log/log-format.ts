/** How lines of a log are written: JSON, or a pattern such as "[%(asctime)s] %(levelname)s: %(message)s". */
export type LogFormat = (record: LogRecord) => string;

/** One line of the log, as the logger writes it: level, time and msg, and the fields of the call. */
export type LogRecord = { level?: string; time?: string; msg?: string; [field: string]: unknown };

const fields = {
  asctime: ({ time }: LogRecord) => time?.replace("T", " ").replace("Z", "") ?? "-",
  levelname: ({ level }: LogRecord) => levelNames[level ?? ""] ?? String(level).toUpperCase(),
  message: messageOf,
} as const;

const levelNames: Readonly<Record<string, string>> = { warn: "WARNING", fatal: "CRITICAL" };
const known = Object.keys(fields)
  .map((name) => `%(${name})s`)
  .join(", ");

/** A field with an optional width, such as %(levelname)-8s; or a percent sign, written as two. */
const fieldForm = /%%|%\((?<name>\w+)\)(?<width>-?\d{0,2})s/g;

/** Why this is not a format for log lines; null if it is one. */
export function logFormatProblem(format: string): string | null {
  if (format === "json") return null;
  const unknown = [...format.matchAll(fieldForm)].find(
    ({ groups }) => groups?.["name"] !== undefined && !Object.hasOwn(fields, groups["name"]),
  );
  if (unknown !== undefined) return `${unknown[0]} is not known; use json, or a pattern of ${known}`;
  const rest = format.replaceAll(fieldForm, "");
  const stray = /%\S{0,20}/.exec(rest);
  if (stray !== null) return `${stray[0]} is not known; use json, or a pattern of ${known}; write %% for %`;
  if (/[\n\r]/.test(format)) return "must not contain a line break: each record is one line";
  if (!format.includes("%(message)")) return `must be json, or a pattern with %(message)s, of ${known}`;
  return null;
}

/** The format of a pattern; undefined for json, which is what the logger writes by itself. */
export function parseLogFormat(format: string): LogFormat | undefined {
  if (format === "json") return undefined;
  return (record) => {
    const line = format.replaceAll(fieldForm, (text, name: string | undefined, width: string) => {
      if (name === undefined) return "%";
      const value = fields[name as keyof typeof fields]?.(record) ?? text;
      return width.startsWith("-") ? value.padEnd(Number(width.slice(1))) : value.padStart(Number(width));
    });
    return `${line}\n`;
  };
}

/** The message, and the fields of the call behind it: what a line of JSON has is not lost in a pattern. */
function messageOf({ level: _level, time: _time, msg = "", ...rest }: LogRecord): string {
  const pairs = Object.entries(rest).map(([name, value]) => `${name}=${valueText(value)}`);
  return [oneLine(msg), ...pairs].join(" ");
}

function valueText(value: unknown): string {
  return typeof value === "string" && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]/g, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}
