import { aroundCommits, describeDatabaseFaults } from "./describe-database-faults.ts";

describeDatabaseFaults(aroundCommits);
