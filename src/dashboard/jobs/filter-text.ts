import { stateWords } from "../parts/state.tsx";
import { ages, momentLabel } from "../parts/time-range.ts";
import { type FilterName, filterLabels, type JobFilter, statesOf, unknownStates } from "./job-filter.ts";

/** The whole filter in words, as on its chips. */
export function filterText(filter: JobFilter): string {
  const names = Object.keys(filter) as FilterName[];
  return names.map((name) => `${filterLabels[name]} ${valueText(name, filter)}`).join(", and ");
}

export function valueText(name: FilterName, filter: JobFilter): string {
  const value = filter[name] ?? "";
  if (name === "state")
    return [
      ...statesOf(filter).map((state) => stateWords[state].toLowerCase()),
      ...unknownStates(filter),
    ].join(", ");
  if (name === "since") return ages[value as keyof typeof ages] ?? momentLabel(value);
  if (name === "until") return /^\d+[smhd]$/.test(value) ? `${value} ago` : momentLabel(value);
  return value;
}
