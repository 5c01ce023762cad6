/** One effect of the settings, as a sentence. A warning is an effect that was probably not intended. */
export type Meaning = { check: string; state: "ok" | "warning"; says: string };

export function ok(check: string, says: string): Meaning {
  return { check, state: "ok", says };
}

export function warning(check: string, says: string): Meaning {
  return { check, state: "warning", says };
}

export function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
