// The only script of the reference page: it hides what does not contain the words that are searched for.
const field = document.querySelector("input[type=search]");
const groups = [...document.querySelectorAll("section")];
const count = document.querySelector("#count");

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of groups) {
    let isEmpty = true;
    for (const entry of group.querySelectorAll("details")) {
      const text = entry.textContent.toLowerCase();
      entry.hidden = !words.every((word) => text.includes(word));
      if (entry.hidden) continue;
      isEmpty = false;
      found += 1;
    }
    group.hidden = isEmpty;
  }
  count.textContent = words.length === 0 ? "" : `${found} found`;
}

/** A link to a route shows it open. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
}

field.addEventListener("input", search);
addEventListener("hashchange", openTarget);
openTarget();
