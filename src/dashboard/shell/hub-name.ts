/** How people know this hub: the name in its address. */
export const hubName = location.hostname;

/** For what cannot be undone: the hub's name has to be typed first. */
export const asksForHub = { label: "Type the hub’s name to go on", word: hubName };
