/** A mutant that no test can tell from the program, and the reason. `what` is how `npm run test:mutants` names it. */
export type Equivalent = { path: string; what: string; why: string };

export const equivalents: Equivalent[] = [];
