/** 2,031, or "more than 10,000". */
export function formatCount(count: number, isMore = false): string {
  const text = count.toLocaleString("en-US");
  return isMore ? `more than ${text}` : text;
}
