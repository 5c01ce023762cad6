import { proveLauncher } from "../sandbox/prove-launcher.ts";

proveLauncher({ errors: ["EPERM", "ENOMEM"], racingOpens: 1_000_000 });
