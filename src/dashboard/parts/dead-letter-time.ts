import { deadLetterDaysDefault } from "../../core/retention.ts";

/** How long dead letters are kept. The page does not know this hub's setting: only administrators may read settings. */
export const deadLetterTime = `kept for ${deadLetterDaysDefault} days, or as WRIT_DEAD_LETTER_DAYS says`;
