// A browser starts no worker for a page that is opened from a disk. The search then runs in a hidden frame instead.
"use strict";
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.title = "search";
    this.loaded = new Promise((done) => this.frame.addEventListener("load", done, { once: true }));
    const answers = "window.postMessage = (data) => parent.postMessage(data, '*');";
    this.frame.srcdoc = `<script>${answers}</script><script src="${url}"></script>`;
    window.addEventListener("message", (event) => {
      if (event.source === this.frame.contentWindow) {
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      }
    });
    document.body.append(this.frame);
  }

  postMessage(data) {
    this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}
if (location.protocol === "file:") window.Worker = FrameWorker;
