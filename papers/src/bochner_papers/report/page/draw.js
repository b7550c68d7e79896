"use strict";
// Draws each chart in the width it has, in the colours of the page; again when the reader turns to light or dark.
(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = () => style("--series").split(" ");

  // A method has a number, and that number one colour on the whole page; beyond the palette hues go on by the golden angle.
  function colours(place) {
    const few = palette();
    const numbers = (place.dataset.colours || "").split(" ").filter(Boolean).map(Number);
    return numbers.map((k) => few[k] ?? `hsl(${Math.round(137.5 * k) % 360} 55% 55%)`);
  }

  function theme(chosen, width) {
    const text = { labelColor: style("--soft"), titleColor: style("--soft"), labelFont: style("--sans"), titleFont: style("--sans") };
    const sizes = { labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500 };
    return {
      background: "transparent",
      view: { stroke: "transparent" },
      font: style("--sans"),
      axis: { ...text, ...sizes, domainColor: style("--line"), tickColor: style("--line"), gridColor: style("--faint"), labelOverlap: true, titleLimit: Math.max(width - 60, 100) },
      // The name of the vertical axis lies above it, where it costs no width.
      axisY: { titleAngle: 0, titleAlign: "left", titleAnchor: "start", titleBaseline: "bottom", titleX: 0, titleY: -9 },
      legend: { ...text, ...sizes },
      mark: { color: palette()[0] },
      text: { color: style("--text") },
      range: { category: chosen.length ? chosen : palette() },
    };
  }

  async function draw(place) {
    const specification = JSON.parse(place.dataset.specification);
    const entries = place.parentElement.querySelectorAll(".legend .entry i");
    const chosen = colours(place);
    entries.forEach((entry, k) => (entry.style.backgroundColor = chosen[k]));
    if (place.dataset.aspect) specification.height = Math.round(Math.min(place.clientWidth - 40, 420) * place.dataset.aspect);
    try {
      // The interpreter of expressions does without eval, which the page's policy forbids.
      const options = { mode: "vega-lite", actions: false, ast: true, renderer: "svg", config: theme(chosen, place.clientWidth) };
      await window.vegaEmbed(place, specification, options);
      place.dataset.drawn = "yes";
    } catch (error) {
      console.error(error);
      place.textContent = `This chart could not be drawn: ${error.message}`;
    }
  }

  async function drawAll() {
    for (const place of document.querySelectorAll(".chart")) await draw(place);
    document.body.dataset.drawn = "yes";
  }

  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Vega is a module and so comes after this script; "load" comes after both.
  window.addEventListener("load", drawAll);
})();
