(() => {
  const rgb = text => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const ground = rgb(getComputedStyle(at).backgroundColor);
      if (ground.length < 4 || ground[3] === 1) return ground;
      if (ground[3] !== 0) throw new Error("half transparent: " + at.outerHTML.slice(0, 80));
    }
    return null;
  };
  const found = {};
  for (const element of document.body.querySelectorAll("*")) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    if (element.localName === "title") continue;
    const style = getComputedStyle(element);
    const ink = rgb(element.ownerSVGElement ? style.fill : style.color);
    const [high, low] = [luminance(ink), luminance(behind(element))].sort((a, b) => b - a);
    const name = [element.localName, ...element.classList].join(".");
    const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
    const held = found[name] || [ratio, size];
    found[name] = [Math.min(held[0], ratio), Math.min(held[1], size)];
  }
  return found;
})()
