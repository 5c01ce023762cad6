import { startReading } from "./start-reading.ts";

/** The thread that reads beside the writes, for programs that show no pages to anybody. */
startReading();
