import { shortId } from "../terminal/short-id.ts";

type Failure = {
  job_id: string;
  code: string | null;
  detail: string | null;
  last_line: string | null;
  output_removed?: boolean;
};

/** How a job failed, in the codes that filters take, what it wrote last, and where the rest of that is. */
export function failureFields({
  job_id: id,
  code,
  detail,
  last_line: line,
  output_removed: isRemoved = false,
}: Failure): (readonly [string, string | null])[] {
  const hasMore = line !== null && !isRemoved;
  return [
    ["failure", code === null || detail === null ? code : `${code}, ${detail}`],
    ["last line", line],
    ["stderr", hasMore ? `\`jobctl stream --stderr ${shortId(id)}\` prints all of it` : null],
  ];
}
