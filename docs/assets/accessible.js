// What the theme leaves out for those who hear a page or have no mouse: names, and a way into what scrolls.
"use strict";
addEventListener("load", () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each(".md-search", (dialog) => dialog.setAttribute("aria-label", "Search"));
  each(".md-code__nav", (buttons, index) => buttons.setAttribute("aria-label", `Code block ${index + 1}`));
  each("pre > code, .md-typeset__scrollwrap, .md-typeset math, .shown", (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
});
