import { askFirst } from "./confirm.tsx";

const keys: [string, string][] = [
  ["Ctrl K", "search or act"],
  ["G then a letter", "go to a page: O J F Q A K S"],
  ["J K ↵", "move between rows, open one"],
  ["X", "select a row"],
  ["/", "filter"],
  ["N", "submit a job"],
  ["P", "pause the list"],
  ["C R", "cancel or retry the job or the selected ones, after asking"],
  ["[ ]", "the job before, the job after"],
  ["F E", "follow its output, switch the stream"],
  ["T", "light or dark"],
  ["?", "this list"],
];

/** Lists all keys and what they do. */
export function showKeys(): void {
  askFirst({
    title: "Keys",
    body: (
      <dl className="facts key-facts">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    ),
    acts: [],
    keep: "Done",
  });
}
