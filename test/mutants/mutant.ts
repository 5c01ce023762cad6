/** One change to one file that takes a part of a guard away. */
export type Mutant = {
  path: string;
  line: number;
  /** The part that changes, as it stands in the file on one line, and what was done to it. */
  what: string;
  text: string;
};

type Edit = { start: number; end: number; by: string; how: string };

/** The texts of a file in each of which one edit was made. */
export function mutantsBy(path: string, source: string, edits: readonly Edit[]): Mutant[] {
  return edits.map(({ start, end, by, how }) => ({
    path,
    line: source.slice(0, start).split("\n").length,
    what: `${how}: ${source.slice(start, end).replace(/\s+/g, " ")}`,
    text: source.slice(0, start) + by + source.slice(end),
  }));
}

export type { Edit };
