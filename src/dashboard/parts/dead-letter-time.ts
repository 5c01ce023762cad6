import { deadLetterDaysDefault } from "../../core/retention.ts";

/** How long they are kept. The page does not know what this hub is set to: only its administrators may read settings. */
export const deadLetterTime = `kept for ${deadLetterDaysDefault} days, or as WRIT_DEAD_LETTER_DAYS says`;
