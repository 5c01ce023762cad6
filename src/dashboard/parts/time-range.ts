/** The spans that a filter offers. They are relative, so that a saved link stays current. */
export const ages = {
  "15m": "15 minutes",
  "1h": "hour",
  "6h": "6 hours",
  "1d": "day",
  "7d": "7 days",
  today: "day, since midnight",
};

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a moment: `1h` ago, `today` at midnight, or milliseconds; undefined for anything else. */
export function momentOf(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (text === "today") return new Date(nowMs).setHours(0, 0, 0, 0);
  const relative = /^(\d{1,5})([smhd])$/.exec(text);
  if (relative !== null) return nowMs - Number(relative[1]) * (unitMs[relative[2]!] ?? 0);
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function momentLabel(value: string): string {
  return /^\d{10,}$/.test(value) ? new Date(Number(value)).toLocaleString("en-GB") : value;
}
