/** Characters that a shell interprets; without a shell a program receives them as they are. */
const operators = /[|&;<>*?\n]/;

/** The shell syntax in this line, each kind once, in order. Quoted characters do not count. */
export function shellSigns(line: string): string[] {
  const found = new Set<string>();
  let quote: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (character === "\\" && quote !== "'") at += 1;
    else if (quote === null && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = null;
    else if (quote !== "'") {
      const sign = signAt(line, at, quote !== null);
      if (sign !== null) found.add(sign);
      at += Math.max(0, (sign ?? "").length - 1);
    }
  }
  return [...found];
}

function signAt(line: string, at: number, isQuoted: boolean): string | null {
  const rest = line.slice(at);
  const variable = /^\$(?:\w+|\{\w+|\()/.exec(rest)?.[0];
  if (variable !== undefined) return variable;
  if (rest.startsWith("`")) return "`";
  if (isQuoted) return null;
  const isWordStart = at === 0 || /\s/.test(line[at - 1]!);
  if (isWordStart && /^~(?:\/|\s|$)/.test(rest)) return "~";
  const double = /^(?:&&|\|\||>>)/.exec(rest)?.[0];
  if (double !== undefined) return double;
  if (!operators.test(rest[0]!)) return null;
  return rest[0] === "\n" ? (rest.trim() === "" ? null : "a line break") : rest[0]!;
}
