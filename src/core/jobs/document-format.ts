/**
 * Document fields that version 0.1 could not read, with the format that introduced each. A worker refuses a document
 * with a field that it does not know, so a job with such a field goes only to workers that read its format. To add a
 * field, add it to the shape of the document and its path here. Such a field is in a document only if it differs from
 * its default. Why: ADR 0019.
 */
export const fieldFormats: Readonly<Record<string, number>> = {
  on_disconnect: 2,
  "run.container": 2,
  "run.stdin": 3,
  "run.inputs": 4,
  "run.collect": 4,
  "run.stdin_from": 4,
  "run.mode": 5,
  traceparent: 6,
  egress: 7,
  "run.budget": 8,
  "run.apply": 9,
};

/** The newest format: this version writes and reads all formats up to it. */
export const documentFormat = Math.max(1, ...Object.values(fieldFormats));

type FieldPath = { steps: readonly string[]; since: number };

const fieldPaths = pathsOf(fieldFormats);

/** The format of a document is that of its newest field. */
export function formatOf(document: object, formats = fieldFormats): number {
  let format = 1;
  for (const { steps, since } of formats === fieldFormats ? fieldPaths : pathsOf(formats)) {
    if (since > format && has(document, steps)) format = since;
  }
  return format;
}

function pathsOf(formats: Readonly<Record<string, number>>): FieldPath[] {
  return Object.entries(formats).map(([path, since]) => ({ steps: path.split("."), since }));
}

function has(value: unknown, steps: readonly string[]): boolean {
  let at = value;
  for (const step of steps) {
    if (typeof at !== "object" || at === null) return false;
    at = (at as Record<string, unknown>)[step];
  }
  return at !== undefined;
}
