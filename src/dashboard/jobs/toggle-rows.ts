/** Adds a row to the selection or removes it; with shift, adds all rows between it and the last selected one. */
export function withToggled(
  rows: readonly { id: string }[],
  selected: ReadonlySet<string>,
  { id, isRange }: { id: string; isRange: boolean },
): ReadonlySet<string> {
  const next = new Set(selected);
  if (!isRange || selected.size === 0) {
    if (!next.delete(id)) next.add(id);
    return next;
  }
  const at = rows.findIndex((row) => row.id === id);
  const from = rows.findIndex((row) => selected.has(row.id));
  for (const row of rows.slice(Math.min(at, from), Math.max(at, from) + 1)) next.add(row.id);
  return next;
}
