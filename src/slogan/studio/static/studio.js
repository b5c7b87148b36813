"use strict";
// Comfort only: every page works without this script. It stores nothing and asks this server alone.
(() => {
  const base = document.body.dataset.base;

  // A tab says that it is there, and that it goes; the studio ends when none is left.
  const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const say = (what) => navigator.sendBeacon(`${base}/${what}`, tab);
  addEventListener("pageshow", () => say("here"));
  addEventListener("pagehide", () => say("bye"));

  const step = document.querySelector(".rail [aria-current]");
  const centre = () => step?.scrollIntoView({ block: "nearest", inline: "center" });
  addEventListener("resize", centre);
  centre();

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select the text to copy it";
      }
    });
  }

  const working = document.querySelector("[data-progress]");
  if (working) {
    const bar = working.querySelector("progress");
    const step = working.querySelector("[data-step]");
    const events = new EventSource(working.dataset.progress);
    const again = () => { events.close(); location.reload(); };
    events.addEventListener("message", (event) => {
      const now = JSON.parse(event.data);
      step.textContent = `${now.name} ${now.note}`;
      if (now.share === null) bar.removeAttribute("value"); else bar.value = now.share;
    });
    events.addEventListener("end", again);
    events.addEventListener("error", () => { events.close(); setTimeout(again, 2000); });
  }

  const slider = document.querySelector("[data-slider]");
  if (slider) {
    const range = slider.querySelector("input[type=range]");
    const panels = [...document.querySelectorAll("[data-panel]")];
    const show = () => {
      for (const panel of panels) panel.hidden = panel.dataset.panel !== range.value;
      const written = panels.find((panel) => !panel.hidden).dataset.written;
      slider.querySelector("[data-now]").textContent = written;
      range.setAttribute("aria-valuetext", written);
      for (const stop of document.querySelectorAll("[data-stop]")) {
        stop.classList.toggle("now", stop.dataset.stop === range.value);
      }
    };
    slider.querySelector("[data-plain]").hidden = true;
    range.addEventListener("input", show);
    show();
  }

  const drop = document.querySelector("[data-drop]");
  if (drop) {
    const file = drop.querySelector("input[type=file]");
    const over = (event, on) => { event.preventDefault(); drop.classList.toggle("dropping", on); };
    drop.addEventListener("dragover", (event) => over(event, true));
    drop.addEventListener("dragleave", (event) => over(event, false));
    drop.addEventListener("drop", (event) => {
      over(event, false);
      if (event.dataTransfer.files.length) {
        file.files = event.dataTransfer.files;
        drop.requestSubmit();
      }
    });
  }
})();
