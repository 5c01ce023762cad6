/**
 * Replaces what a rule must not see by spaces, and keeps every line break so that line numbers stay true. It is
 * no parser: a regular expression that holds quotes can mislead it, but only within its line.
 */
export function blankOut(text: string, seen: string): string {
  if (seen === "everything") return text;
  const parts = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
  return text.replace(parts, (part) => {
    const kind = part.startsWith("/") ? "comment" : part.startsWith("`") ? "template" : "quote";
    return hidden[seen]?.includes(kind) ? part.replace(/[^\n]/g, " ") : part;
  });
}

const hidden: Record<string, string[]> = {
  "without-comments": ["comment"],
  // A template may hold code between its braces, so it stays visible here.
  "without-comments-and-quotes": ["comment", "quote"],
  code: ["comment", "quote", "template"],
};
