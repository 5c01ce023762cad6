import { isJobId } from "../core/ids.ts";
import { outputStreams } from "../core/jobs/output-stream.ts";
import { readDiff } from "./text/diff-text.ts";
import { readTail } from "./text/output-text.ts";
import { untrustedCharsMax } from "./text/untrusted.ts";
import { jsonText, type ToolCall } from "./tools/tool.ts";

const parts = ["output", "diff", "receipt"] as const;
type Part = (typeof parts)[number];

export const resourceTemplates = [
  {
    uriTemplate: "writ://jobs/{job_id}/output",
    name: "output",
    title: "What a job wrote",
    description: "The end of its stdout and stderr",
    mimeType: "text/plain",
  },
  {
    uriTemplate: "writ://jobs/{job_id}/diff",
    name: "diff",
    title: "What a coding agent changed",
    description: "The diff of a delegate job",
    mimeType: "text/plain",
  },
  {
    uriTemplate: "writ://jobs/{job_id}/receipt",
    name: "receipt",
    title: "What a job did, signed by its worker",
    description: "The receipt, with everything that is needed to check it",
    mimeType: "application/json",
  },
];

/** The part of a job that an address names, or null. */
export function parseResource(uri: string): { jobId: string; part: Part } | null {
  const [, jobId = "", part = ""] = /^writ:\/\/jobs\/([^/]+)\/([a-z]+)$/.exec(uri) ?? [];
  return isJobId(jobId) && isPart(part) ? { jobId, part } : null;
}

function isPart(name: string): name is Part {
  return (parts as readonly string[]).includes(name);
}

type Content = { mimeType: string; text: string };

/** What is at an address; null if the job has none of it. */
export async function readResource(
  call: ToolCall,
  { jobId, part }: { jobId: string; part: Part },
): Promise<Content | null> {
  const mimeType = "text/plain";
  switch (part) {
    case "output":
      return { mimeType, text: await outputText(call, jobId) };
    case "diff": {
      const diff = await readDiff(call.hub, jobId, 0);
      if (diff === null) return null;
      const what = `The first ${diff.text.length} of the ${diff.size} characters of the diff of job ${jobId}.`;
      return { mimeType, text: call.mark(what, diff.text) };
    }
    case "receipt": {
      const { body } = await call.hub.call("getReceipt", { params: { id: jobId } });
      return { mimeType: "application/json", text: jsonText(body) };
    }
  }
}

async function outputText({ hub, mark }: ToolCall, jobId: string): Promise<string> {
  const texts: string[] = [];
  for (const stream of outputStreams) {
    const charsMax = untrustedCharsMax / outputStreams.length;
    const { size, text } = await readTail(hub, { jobId, stream }, { charsMax });
    texts.push(mark(`The end of the ${size} bytes that job ${jobId} wrote to ${stream}.`, text));
  }
  return texts.join("\n\n");
}
