import { proveLauncher } from "./prove-launcher.ts";

/** `npm run test:long -- launcher-proofs` has another error and more races. */
proveLauncher({ errors: ["EPERM"], racingOpens: 200_000 });
