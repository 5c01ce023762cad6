const cell = { width: 7.8, height: 19 };
const padding = 20;
const barHeight = 36;
const columnsMin = 80;

/** The ANSI colours that our commands use, as classes of the style below. */
const classOfCode = { 1: "bold", 2: "dim", 31: "red", 32: "green", 33: "yellow", 36: "cyan" };
const resetCodes = new Set(["0", "22", "39"]);

// The picture has its own background, so that it can be read on a page of any colour; it follows the reader's scheme.
const style = `
  .window { fill: #f6f8fa; stroke: #d0d7de } .dot { fill: #d0d7de } text { fill: #1f2328 }
  .prompt { fill: #656d76 } .dim { fill: #656d76 } .bold { font-weight: 700 }
  .red { fill: #cf222e } .green { fill: #116329 } .yellow { fill: #7d4e00 } .cyan { fill: #0550ae }
  @media (prefers-color-scheme: dark) {
    .window { fill: #161b22; stroke: #30363d } .dot { fill: #30363d } text { fill: #e6edf3 }
    .prompt { fill: #8d96a0 } .dim { fill: #8d96a0 }
    .red { fill: #ff7b72 } .green { fill: #7ee787 } .yellow { fill: #e3b341 } .cyan { fill: #79c0ff }
  }`;

/** An SVG of a terminal in which each command was typed and printed its output. */
export function drawTerminal(session) {
  const lines = session.flatMap(({ command, output }) => [
    [
      { text: "$ ", name: "prompt" },
      { text: command, name: "bold" },
    ],
    ...output.trimEnd().split("\n").map(readColours),
  ]);
  const columns = Math.max(columnsMin, ...lines.map((runs) => lengthOf(runs)));
  const width = Math.ceil(columns * cell.width + 2 * padding);
  const height = Math.ceil(lines.length * cell.height + barHeight + padding);
  const dots = [0, 1, 2].map((n) => `<circle class="dot" cx="${padding + n * 18}" cy="18" r="6"/>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>A terminal session with jobctl</title>`,
    `<style>${style}\n  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }\n</style>`,
    `<rect class="window" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...dots,
    ...lines.flatMap((runs, row) => drawLine(runs, barHeight + (row + 0.75) * cell.height)),
    "</svg>\n",
  ].join("\n");
}

/** Every run of characters gets its exact width, so that columns line up in whatever font the reader has. */
function drawLine(runs, y) {
  let column = 0;
  return runs.flatMap(({ text, name }) => {
    const x = padding + column * cell.width;
    column += text.length;
    if (text.trim() === "") return [];
    const width = (text.length * cell.width).toFixed(1);
    const named = name === "" ? "" : ` class="${name}"`;
    return `<text${named} x="${x.toFixed(1)}" y="${y.toFixed(1)}" textLength="${width}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`;
  });
}

function lengthOf(runs) {
  return runs.reduce((sum, { text }) => sum + text.length, 0);
}

/** Splits a line at its colour codes: `[{ text, name }]`. */
function readColours(line) {
  const runs = [];
  let name = "";
  for (const [, codes, text] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
    if (text !== undefined) runs.push({ text, name });
    else if (resetCodes.has(codes)) name = "";
    else name = classOfCode[codes] ?? "";
  }
  return runs;
}

function escapeXml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
