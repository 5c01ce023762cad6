/** What a person types for one of our programs: `bin/jobctl` in a checkout, `npx jobctl` for an installed package. */
export function programName(program: "jobctl" | "writ"): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="writ-programs"]');
  return `${meta?.content ?? ""}${program}`;
}
