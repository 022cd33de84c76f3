/** Whether a word is how tokenizers write a token that is no text, such as the end of one: [EOS], <|endoftext|>. */
const isMark = word => /^(\[\S+\]|<\S+>)$/.test(word);

/**
 * Draw a run of one such token at the end of a text as one word, "[EOS] × 12", as far as its boxes look the same: the
 * first says how many they are and goes through to the last, the others are hidden. Call it after each change.
 */
function gatherEnd(boxes) {
  const words = boxes.map(box => box.firstChild.textContent);
  boxes.forEach(box => { box.hidden = false; box.removeAttribute("data-through"); });
  for (let first, last = boxes.length - 1; last >= 0 && isMark(words[last]); last = first - 1) {
    first = last;
    while (first && words[first - 1] === words[last] && boxes[first - 1].className === boxes[last].className) first -= 1;
    if (first === last) continue;
    boxes[first].firstChild.textContent = `${words[last]} \u00d7 ${last - first + 1}`;
    boxes[first].dataset.through = last;
    boxes.slice(first + 1, last + 1).forEach(box => { box.hidden = true; });
  }
}

/** Return the positions of a box of the text, first and last; null for what is no such box. */
function positionsOf(element) {
  const box = element.closest?.(".word");
  return box ? [Number(box.dataset.position), Number(box.dataset.through ?? box.dataset.position)] : null;
}

/** Say where positions are and when they were committed. `commits`: the step of every position of the text. */
function placed(first, last, commits) {
  const steps = commits.slice(first, last + 1), [least, most] = [Math.min(...steps), Math.max(...steps)];
  const where = first === last ? `position ${first}` : `positions ${first} to ${last}`;
  if (least < 0) return `${where}, never committed`;
  return `${where}, committed at ${least === most ? `step ${least}` : `steps ${least} to ${most}`}`;
}
