/** Which test files run a third time, with hubs that keep their jobs in group frames. */
export const fastOnFrames = ["test/http/**/*.test.ts"];
