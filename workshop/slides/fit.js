// Makes a slide fit its frame: code and output get smaller, down to a floor; then pictures do;
// what is still too long scrolls within its output, with a bar to see it by.
(function () {
  const LARGEST = 26;
  const SMALLEST = 16;
  const LEAST_PICTURE = 300;
  const LEAST_OUTPUT = 160;

  function outputs(slide) {
    return [...slide.querySelectorAll(".jp-OutputArea-output pre")];
  }

  function fit(slide) {
    if (!slide || slide.dataset.fitted) return;
    const room = Reveal.getConfig().height;
    const set = (name, pixels) => slide.style.setProperty(name, `${pixels}px`);
    const tooLong = () => slide.scrollHeight > room;
    slide.dataset.fitted = "yes";
    set("--output", 9999);
    for (let size = LARGEST; size >= SMALLEST; size -= 1) {
      set("--code", size);
      if (!tooLong()) return;
    }
    for (let size = 460; size >= LEAST_PICTURE && tooLong(); size -= 20) set("--picture", size);
    const longest = Math.max(0, ...outputs(slide).map((pre) => pre.scrollHeight));
    for (let size = longest; size >= LEAST_OUTPUT && tooLong(); size -= 10) set("--output", size);
  }

  function fitCurrent() {
    fit(Reveal.getCurrentSlide());
    Reveal.layout();
  }

  Reveal.on("ready", fitCurrent);
  Reveal.on("slidechanged", fitCurrent);
})();
