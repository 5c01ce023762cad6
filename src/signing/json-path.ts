/** A key, an index, or null in an object whose next key has not been read yet. */
export type JsonStep = string | number | null;

/** Keeps an error short that quotes a hostile key. */
const pathCharsMax = 200;

/**
 * `run.steps[2].name`; empty for the document itself. Unusual keys are quoted, so that they cannot forge a log line.
 */
export function jsonPath(place: JsonStep[]): string {
  let path = "";
  for (const step of place) {
    if (typeof step === "number") path += `[${step}]`;
    else if (step !== null && !/^[\w-]+$/.test(step)) path += `[${JSON.stringify(step)}]`;
    else if (step !== null) path += path === "" ? step : `.${step}`;
  }
  return path.length > pathCharsMax ? `${path.slice(0, pathCharsMax).toWellFormed()}…` : path;
}
