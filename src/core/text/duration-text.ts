export const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds for 90s, 10m or 1h30m; undefined when the text is not a length of time with its units. */
export function parseUnits(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)(ms|[smhd])/g)];
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit as "s"], 0));
}
