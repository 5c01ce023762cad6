const unreadableEscape = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`;

/**
 * SQL for a JSON text that callers wrote, as PostgreSQL can read it: it refuses the whole text for a NUL, or for half of a
 * surrogate pair, in any string of it. A backslash that is escaped begins no escape. For searches and short forms only:
 * what is shown as stored is read by the hub. Why: ADR 0080.
 */
export function readableJson(text: string): string {
  return String.raw`regexp_replace(${text}, '${unreadableEscape}', '\1\\ufffd', 'gi')`;
}
