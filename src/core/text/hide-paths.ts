const jobId = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const jobIds = new RegExp(jobId, "gi");
/** An absolute path in a sentence: it begins a word, and ends before a space or the sentence's own marks. */
const paths = /(?<![\w.~/-])\/[^\s:;,"'()]+/g;

/** A reason without what belongs to one job: its id, and the paths in `workDir`, which has a folder for each job. */
export function hideJob(reason: string, workDir: string): string {
  const [first = "", ...rest] = reason.split(`${workDir}/`);
  const cut = [first, ...rest.map((part) => part.replace(/^[^\s:;,"'()]*/, ""))].join("WRIT_WORK_DIR");
  return cut
    .replaceAll(paths, (path) => (path.search(jobIds) === -1 ? path : "a job's folder"))
    .replaceAll(jobIds, "a job");
}

/** A reason without any path of its machine, nor the id of a job. */
export function hidePaths(reason: string): string {
  return reason.replaceAll(paths, "a path").replaceAll(jobIds, "a job");
}
