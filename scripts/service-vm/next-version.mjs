/** The number that the package is packed with a second time, to be upgraded to. */
export const nextVersion = "0.1.99";
