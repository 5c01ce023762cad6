/**
 * PEM as people paste it into variables and YAML: with `\\n` written out, in base64, or with the `|` before it that begins a
 * block in YAML. Any other text comes back in its own lines, and is refused by what loads the key.
 */
export function pemFromText(text: string): string {
  const lines = plainLines(text);
  if (lines.includes("-----BEGIN")) return lines;
  const decoded = Buffer.from(lines, "base64").toString("latin1");
  return decoded.startsWith("-----BEGIN") ? plainLines(decoded) : lines;
}

function plainLines(text: string): string {
  const lines = text
    .replace(/^\s*\|[-+]?/, "")
    .replaceAll(/(?:\\r)?\\n/g, "\n")
    .split("\n")
    .map((line) => line.trim());
  return `${lines.filter((line) => line !== "").join("\n")}\n`;
}
