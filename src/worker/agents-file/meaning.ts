/** One thing that the settings mean, as a sentence. A warning is something that works, but hardly as it was meant. */
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
