/** How people know this hub: the name in its address. */
export const hubName = location.hostname;

/** Before an act that cannot be undone, the person types the hub's name. */
export const asksForHub = { label: "Type the hub’s name to continue", word: hubName };
