/** How long dead letters are kept, unless WRIT_DEAD_LETTER_DAYS says otherwise. */
export const deadLetterDaysDefault = 7;
