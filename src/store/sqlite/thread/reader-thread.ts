import { startReading } from "./start-reading.ts";

/** The thread that reads beside the writes, for programs that show no pages to anybody. Why: ADR 0059. */
void startReading();
