/** A logarithmic axis of scales over the width of a figure. `low` and `high` are its ends. */
function logAxis(low, high) {
  const from = Math.log(low), span = Math.log(high) - from || 1;
  const axis = {
    width: 0,
    share: scale => (Math.log(scale) - from) / span,
    scale: share => clamp(Math.exp(from + span * share), low, high),
    x: scale => LEFT + axis.share(scale) * (axis.width - LEFT - RIGHT),
    at: x => axis.scale(clamp((x - LEFT) / (axis.width - LEFT - RIGHT), 0, 1)),
    ticks: () => {
      const marks = [1, 2, 5].flatMap(first => {
        const all = [];
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power += 1) all.push(first * 10 ** power);
        return all;
      }).filter(scale => scale >= low * 0.999 && scale <= high * 1.001).sort((a, b) => a - b);
      const room = Math.max(2, (axis.width - LEFT - RIGHT) / 44);
      const tens = marks.filter(scale => Math.abs(Math.log10(scale) - Math.round(Math.log10(scale))) < 1e-9);
      return marks.length <= room || tens.length < 2 ? marks : tens;
    },
  };
  return axis;
}

/** Numbers below a figure over an axis of scales, and the axis's name. */
function scaleTicks(axis, name, y) {
  const numbers = axis.ticks().map(scale =>
    draw("text", { x: axis.x(scale), y: y + 15, "text-anchor": "middle" }, figures(scale, 3)));
  return [...numbers, draw("text", { class: "name", x: 0, y: y + 15 }, name)];
}
