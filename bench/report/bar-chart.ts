import type { Entry } from "../_contest.ts";

const width = 640;
const labelWidth = 170;
const barWidth = 330;
const rowHeight = 26;
const top = 36;

/** Horizontal bars with the spread as a thin line; the first bar, which is ours, has another colour. */
export function barChart(title: string, unit: string, entries: readonly Entry[]): string {
  const most = Math.max(...entries.map(({ spread }) => spread[1])) || 1;
  const x = (value: number) => Math.round((value / most) * barWidth) + labelWidth;
  const rows = entries.map(({ rival, value, spread }, index) => {
    const y = top + index * rowHeight;
    const middle = y + 9;
    return [
      `<text x="${labelWidth - 8}" y="${y + 13}" text-anchor="end">${escapeXml(rival)}</text>`,
      `<rect x="${labelWidth}" y="${y}" width="${Math.max(1, x(value) - labelWidth)}" height="18" rx="2" fill="${index === 0 ? "#2f6feb" : "#9aa4b2"}"/>`,
      `<path d="M${x(spread[0])} ${middle}H${x(spread[1])}" stroke="#30363d" stroke-width="2"/>`,
      `<text x="${x(Math.max(value, spread[1])) + 8}" y="${y + 13}">${value.toLocaleString("en")}</text>`,
    ].join("\n");
  });
  const height = top + entries.length * rowHeight + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13" fill="#1f2328">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="8" y="20" font-weight="bold">${escapeXml(title)} (${escapeXml(unit)})</text>
${rows.join("\n")}
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
