import { describeFleetFaults } from "../support/fleet-faults.ts";

/** Each fault once. `npm run test:long` has all of them at every hub. */
describeFleetFaults([
  ["hub 0 is killed", (fleet) => fleet.kill(0)],
  ["hub 1 is frozen", (fleet) => fleet.freeze(1)],
  ["PostgreSQL is killed", (fleet) => fleet.killDatabase()],
  ["hub 2 is cut off", (fleet) => fleet.cutOff(2)],
  ["PostgreSQL is killed again", (fleet) => fleet.killDatabase()],
]);
