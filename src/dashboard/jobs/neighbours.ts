/** The jobs of the list that was shown last, so that a person can open one after the other. */
let shown: readonly { id: string }[] = [];

export function rememberShown(rows: readonly { id: string }[]): void {
  shown = rows;
}

/** The jobs before and after this one in that list. */
export function neighboursOf(id: string): { newer: string | undefined; older: string | undefined } {
  const at = shown.findIndex((row) => row.id === id);
  if (at === -1) return { newer: undefined, older: undefined };
  return { newer: shown[at - 1]?.id, older: shown[at + 1]?.id };
}
