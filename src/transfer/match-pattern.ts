/**
 * Whether a relative path fits a pattern: `*` is any part of a name, `?` one character of it, `**` any number of
 * directories; a `**` at the end also covers everything beneath. The patterns come from users, and unlike regular
 * expressions these take no longer than the lengths of path and pattern multiplied. Why: ADR 0042.
 */
export function matchPattern(path: string, pattern: string): boolean {
  return fits(path.split("/"), withoutDots(pattern.split("/")), nameFits);
}

/** `./a//b` means the same as `a/b`. */
function withoutDots(names: string[]): string[] {
  return names.filter((name) => name !== "" && name !== ".");
}

function nameFits(name: string, pattern: string): boolean {
  return fits(
    [...name],
    [...pattern].map((sign) => (sign === "*" ? "**" : sign)),
    charFits,
  );
}

function charFits(char: string, sign: string): boolean {
  return sign === "?" || char === sign;
}

/**
 * Compares two lists from left to right; `**` in the pattern stands for any number of items. When something does not fit,
 * the last `**` takes one item more: going further back never helps.
 */
function fits(
  items: readonly string[],
  pattern: readonly string[],
  itemFits: (item: string, pattern: string) => boolean,
): boolean {
  let [at, place] = [0, 0];
  let retry: { at: number; place: number } | undefined;
  while (at < items.length) {
    const wanted = pattern[place];
    if (wanted === "**") {
      retry = { at, place: place + 1 };
      place++;
    } else if (wanted !== undefined && itemFits(items[at]!, wanted)) {
      at++;
      place++;
    } else if (retry !== undefined) {
      retry.at++;
      at = retry.at;
      place = retry.place;
    } else {
      return false;
    }
  }
  return pattern.slice(place).every((rest) => rest === "**");
}
