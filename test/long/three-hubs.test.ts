import { describeFleetFaults, type Fault } from "../support/fleet-faults.ts";

const hubs = [0, 1, 2];
const database: Fault = ["PostgreSQL is killed", (fleet) => fleet.killDatabase()];

const round: Fault[] = [
  ...hubs.map((hub): Fault => [`hub ${hub} is killed`, (fleet) => fleet.kill(hub)]),
  database,
  ...hubs.map((hub): Fault => [`hub ${hub} is frozen`, (fleet) => fleet.freeze(hub)]),
  database,
  ...hubs.map((hub): Fault => [`hub ${hub} is cut off`, (fleet) => fleet.cutOff(hub)]),
];

describeFleetFaults([...round, ...round, ...round]);
