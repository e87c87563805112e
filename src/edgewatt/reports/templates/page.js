(() => {
  "use strict";
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 48rem)");
  const coarse = matchMedia("(pointer: coarse)");
  const drawn = new Set();

  // Plots: drawn when they come into view, in the theme's colours.

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function themed(layout) {
    const axis = { gridcolor: colour("--grid"), zerolinecolor: colour("--line"), linecolor: colour("--line") };
    const size = narrow.matches ? 11 : 12;
    return {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--text"), size, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { ...layout.hoverlabel, bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--text") } },
      xaxis: { ...axis, ...layout.xaxis },
      yaxis: { ...axis, ...layout.yaxis },
      // On a screen that is touched, dragging scrolls the page.
      dragmode: coarse.matches ? false : layout.dragmode,
      // Levels and their names lie on bars of any colour.
      shapes: (layout.shapes ?? []).map((s) => (s.type === "line" ? { ...s, line: { ...s.line, color: colour("--text") } } : s)),
      annotations: (layout.annotations ?? []).map((a) => ({ ...a, bgcolor: colour("--panel") })),
    };
  }

  function draw(element) {
    const figure = JSON.parse(document.getElementById(`${element.id}-data`).textContent);
    const config = { responsive: true, displaylogo: false, displayModeBar: false };
    Plotly.react(element, figure.data, themed(figure.layout), config);
    drawn.add(element);
  }

  const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target, boundingClientRect: box } of entries) {
        if (!isIntersecting) continue;
        watcher.unobserve(target);
        // What is in view comes first.
        if (box.top < innerHeight && box.bottom > 0) draw(target);
        else whenIdle(() => drawn.has(target) || draw(target));
      }
    },
    { rootMargin: "400px" },
  );
  document.querySelectorAll(".plot").forEach((element) => watcher.observe(element));

  // Paper shows everything, in light colours.

  const folded = [...document.querySelectorAll("details")];
  let before = null;
  addEventListener("beforeprint", () => {
    before = { theme: root.dataset.theme, open: folded.map((element) => element.open) };
    root.dataset.theme = "light";
    folded.forEach((element) => { element.open = true; });
    document.querySelectorAll(".plot").forEach(draw);
  });
  addEventListener("afterprint", () => {
    if (before === null) return;
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    folded.forEach((element, i) => { element.open = before.open[i]; });
    before = null;
    drawn.forEach(draw);
  });

  // Theme: the system's, until the switch says otherwise.

  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  function showTheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    drawn.forEach(draw);
  }

  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("edgewatt-theme", root.dataset.theme);
    } catch {
      // A page from a file may be refused storage; the switch then lasts as long as the page.
    }
    showTheme();
  });
  prefersDark.addEventListener("change", showTheme);
  try {
    const kept = localStorage.getItem("edgewatt-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // As above.
  }
  button.hidden = false;
  showTheme();

  // Tables: sorted by a heading, searched by text, filtered by kind.

  function sortKey(row, column, type) {
    const cell = row.cells[column];
    if (type === "text") return cell.textContent.toLowerCase();
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  }

  function sortBy(table, heading) {
    const { type } = heading.dataset;
    const column = heading.cellIndex;
    const before = heading.getAttribute("aria-sort");
    // Numbers are most often wanted from the greatest down.
    const first = type === "number" && column > 0 ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const direction = before === first ? second : first;
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [sortKey(row, column, type), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (type === "text" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    });
    body.append(...rows.map(([, row]) => row));
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", direction);
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    table.querySelectorAll("thead th").forEach((heading) => {
      heading.querySelector("button").addEventListener("click", () => sortBy(table, heading));
    });
  });

  function filter(id) {
    const table = document.getElementById(id);
    const words = document.querySelector(`input[data-for="${id}"]`).value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = document.querySelector(`select[data-for="${id}"]`).value;
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (kind && row.dataset.kind !== kind) || !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    document.querySelector(`.count[data-for="${id}"]`).textContent = `${shown} of ${rows.length} layers`;
  }

  document.querySelectorAll(".controls input, .controls select").forEach((control) => {
    control.addEventListener("input", () => filter(control.dataset.for));
  });
})();
