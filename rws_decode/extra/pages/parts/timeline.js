/**
 * The steps from 0 to `last` under one slider: buttons, keys, playing. `show(step)` draws a step and returns the
 * sentence that says what it is. `marked` are the steps that the button `next` goes to. Returns `go`.
 */
function timeline(last, start, marked, show) {
  const slider = byId("step"), play = byId("play"), next = byId("next");
  const beat = clamp(14000 / Math.max(1, last), 110, 700);
  let at = start, playing = 0;

  function go(step) {
    at = clamp(step, 0, last);
    slider.value = at;
    const where = at === last ? `end, after ${last} steps` : `step ${at} (0 to ${last - 1})`;
    slider.setAttribute("aria-valuetext", where);
    byId("where").textContent = where;
    const sentence = show(at);
    if (!playing) say(sentence);
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "Play";
  }

  function toggle() {
    if (playing) {
      pause();
      return go(at);
    }
    play.textContent = "Pause";
    playing = setInterval(() => {
      if (at + 1 >= last) pause();
      go(at + 1);
    }, beat);
    if (at === last) go(0);
  }

  const move = step => () => { pause(); go(step()); };
  slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
  play.addEventListener("click", toggle);
  byId("back").addEventListener("click", move(() => at - 1));
  byId("forward").addEventListener("click", move(() => at + 1));
  next.hidden = marked.length === 0;
  next.addEventListener("click", move(() => marked.find(step => step > at) ?? marked[0]));
  onKeys({
    " ": toggle,
    ArrowLeft: move(() => at - 1),
    ArrowRight: move(() => at + 1),
    Home: move(() => 0),
    End: move(() => last),
  });
  slider.max = last;
  go(start);
  return step => { pause(); go(step); };
}
