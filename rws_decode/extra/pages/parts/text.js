/**
 * The text of a run: a box for each position, fixed words of a prompt with gaps between them. Returns
 * `show(step, other, here)`: `other` is the run that it is compared with, or null, `here` the position pointed at.
 */
function textView(run, host, inspect) {
  const boxes = [], settle = onlyGrows(host);
  run.row.forEach((part, place) => {
    if (typeof part === "string") return host.append(make("span", { class: "fixed" }, shown(part)), " ");
    const last = data.words[run.tokens[part]];
    const box = make("span", { class: "word", "data-position": part, "data-last": shown(last) }, make("span"));
    boxes[part] = box;
    const following = run.row[place + 1], begins = typeof following === "number" ? data.words[run.tokens[following]] : " ";
    host.append(box, data.blanks || /^\s/.test(begins) ? " " : "\u200b");
    if (last.includes("\n")) host.append(make("br"), make("span", { class: "indent" }, last.slice(last.lastIndexOf("\n") + 1)));
  });
  const openEnded = typeof run.row.at(-1) === "number";
  host.addEventListener("pointerover", event => {
    const positions = positionsOf(event.target);
    if (positions) inspect(positions[0], event.clientX, event.clientY, { last: positions[1] });
  });
  host.addEventListener("pointerleave", () => inspect(null));

  return (step, other, here) => {
    const ramp = colours("--steps");
    boxes.forEach((box, position) => {
      const { step: commit, until, word: set } = commitAt(run, step, position), open = masked(run, step, position);
      const now = open && commit === step, cell = step * run.length + position;
      const word = !open || now ? set : step < run.steps ? run.candidate[cell] : run.tokens[position];
      const text = word < 0 ? "\u00b7" : shown(data.words[word]);
      if (box.firstChild.textContent !== text) box.firstChild.textContent = text;
      box.className = `word ${now ? "new" : open ? "masked" : until === step ? "again" : "done"}`;
      const theirs = other && position < other.length ? committed(other, step, position) : null;
      const ours = committed(run, step, position);
      box.classList.toggle("differs", theirs !== null && ours !== null && theirs !== ours);
      box.classList.toggle("alone", other !== null && theirs === null && ours !== null);
      box.style.borderBottomColor =
        byId("coloured").checked && commit >= 0 && (!open || now) ? mixed(ramp, commit / Math.max(1, run.steps - 1)) : "";
    });
    if (openEnded) gatherEnd(boxes);
    const pointed = boxes.find((box, position) => !box.hidden && position <= here && here <= positionsOf(box)[1]);
    if (here !== null && pointed) pointed.classList.add("here");
    host.classList.toggle("bare", !byId("candidates").checked);
    settle();
  };
}

/** Return the word that stands at a position once a step is done, null while it is masked. */
function committed(run, step, position) {
  const { step: commit, until, word } = commitAt(run, step, position);
  const open = until <= step || (commit < 0 ? step < run.steps : commit > step);
  return open ? null : data.words[word];
}
