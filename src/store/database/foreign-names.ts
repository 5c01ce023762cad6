/** The rest is only counted. */
const namesShown = 5;

/** The first of these names, as an error shows what another program keeps where a database of ours would be. */
export function showForeign(found: readonly { name: string }[]): string {
  const shown = found.slice(0, namesShown).map(({ name }) => name);
  const more = found.length > namesShown ? ` and ${found.length - namesShown} more` : "";
  return `${shown.join(", ")}${more}`;
}
