import { startTestWorker } from "../support/worker.ts";

/** A worker in a process of its own, which kills itself when a process has ended and is about to be reported. */
const { place, type, home } = JSON.parse(process.argv[2]!) as {
  place: { url: string; home: string; admin: string };
  type: string;
  home: string;
};

await startTestWorker(place, {
  types: [type],
  home,
  failpoint: async (name) => {
    if (name === "worker.beforeReport") process.kill(process.pid, "SIGKILL");
  },
});
