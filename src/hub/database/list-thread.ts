import { startReading } from "../../store/sqlite/thread/start-reading.ts";
import { showJobs } from "../views/show-jobs.ts";

/**
 * The thread that reads beside the writes. It also writes the pages of lists as their readers see them, so that the main
 * loop, in which submissions wait, only passes them on. Why: ADR 0070.
 */
void startReading(showJobs);
