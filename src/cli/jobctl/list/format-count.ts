/** 2,031, or "more than 10,000". */
export function formatCount(count: number, isMore = false): string {
  const text = count.toLocaleString("en-US");
  return isMore ? `more than ${text}` : text;
}

/** How many of all are shown. The hub gives up counting after a while, perhaps before it has found as many. */
export function formatPart(shown: number, total: { count: number; isMore: boolean } | undefined): string {
  const isKnown = total !== undefined && total.count >= shown;
  return `${formatCount(shown)} ${isKnown ? `of ${formatCount(total.count, total.isMore)}` : "shown"}`;
}
