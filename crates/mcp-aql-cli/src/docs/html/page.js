"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("script");

  // The choice of colours. Storage may be closed to pages that were opened from a file.
  const stored = {
    get() { try { return localStorage.getItem("mcp-aql-docs-theme"); } catch { return null; } },
    set(value) {
      try {
        if (value) localStorage.setItem("mcp-aql-docs-theme", value);
        else localStorage.removeItem("mcp-aql-docs-theme");
      } catch { /* It then lasts as long as the page. */ }
    },
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const systemTheme = () => (system.matches ? "dark" : "light");
  const chosen = stored.get();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  addEventListener("DOMContentLoaded", () => {
    const find = (selector, from = document) => [...from.querySelectorAll(selector)];
    const byId = (id) => document.getElementById(id);
    const search = byId("search"), found = byId("found"), said = byId("said"), theme = byId("theme");
    const nav = byId("contents"), menu = byId("menu"), main = byId("main");

    const themeNow = () => root.dataset.theme || systemTheme();
    const label = () => {
      const other = themeNow() === "dark" ? "light" : "dark";
      theme.setAttribute("aria-label", `Switch to ${other} colours`);
      theme.title = `Switch to ${other} colours`;
    };
    theme.addEventListener("click", () => {
      const other = themeNow() === "dark" ? "light" : "dark";
      // Who chooses what the system has follows the system again.
      if (other === systemTheme()) delete root.dataset.theme;
      else root.dataset.theme = other;
      stored.set(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    label();

    const open = (show) => {
      nav.classList.toggle("open", show);
      menu.setAttribute("aria-expanded", String(show));
    };
    menu.addEventListener("click", () => {
      const show = !nav.classList.contains("open");
      open(show);
      if (show && nav.getBoundingClientRect().bottom < 0) nav.scrollIntoView();
    });
    nav.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });

    // Search. An entry is found when it holds all words.
    const text = (element) => element.textContent.toLowerCase();
    const entries = find(".entry").map((element) => ({
      element,
      link: find("#contents [data-for]").find((item) => item.dataset.for === element.id),
      operation: element.classList.contains("operation"),
      text: find("h3, .facts > p, .facts > ul:not(.codes), .entry > p, .values, .badges, tbody", element)
        .map(text).join(" "),
    }));
    const sections = find("#overview, #errors, #limits, main > footer, #contents > .title");
    const nothing = document.createElement("p");
    nothing.id = "nothing";
    nothing.hidden = true;
    main.append(nothing);

    const highlight = (words) => {
      if (!globalThis.Highlight || !CSS.highlights) return;
      CSS.highlights.delete("found");
      const ranges = [];
      for (const entry of words.length ? entries : []) {
        if (entry.element.hidden) continue;
        const walker = document.createTreeWalker(entry.element, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          if (node.parentElement.closest(".samples, .codes, .aside")) continue;
          const lower = node.data.toLowerCase();
          // A letter may change its length along with its case.
          if (lower.length !== node.data.length) continue;
          for (const word of words) {
            for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
              const range = new Range();
              range.setStart(node, at);
              range.setEnd(node, at + word.length);
              ranges.push(range);
            }
          }
        }
      }
      if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
    };

    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let operations = 0, types = 0;
      for (const entry of entries) {
        const matches = words.every((word) => entry.text.includes(word));
        entry.element.hidden = !matches;
        if (entry.link) entry.link.hidden = !matches;
        if (matches) entry.operation ? operations++ : types++;
      }
      for (const group of find("main > .group, #contents > div")) {
        const inside = find(".entry, [data-for]", group);
        if (inside.length) group.hidden = inside.every((one) => one.hidden);
      }
      for (const section of sections) section.hidden = words.length > 0;
      nothing.hidden = operations + types > 0;
      nothing.textContent = `Nothing matches “${search.value.trim()}”.`;
      const plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;
      found.textContent = words.length
        ? `${plural(operations, "operation")} and ${plural(types, "type")} found` : "";
      root.classList.toggle("searching", words.length > 0);
      highlight(words);
    };
    const clear = () => { if (search.value) { search.value = ""; filter(); } };
    search.addEventListener("input", () => { filter(); scrollTo(0, 0); });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { clear(); search.blur(); }
      if (event.key === "Enter") {
        const words = search.value.trim().toLowerCase();
        const left = entries.filter((entry) => !entry.element.hidden);
        const first = left.find((entry) => entry.element.id.toLowerCase().includes(words)) ?? left[0];
        if (first && words) {
          first.element.scrollIntoView();
          find("h3 a", first.element)[0]?.focus({ preventScroll: true });
        }
      }
    });
    addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      search.focus();
      search.select();
    });

    // A link to something that the search hides ends the search.
    const arrive = () => {
      const target = byId(location.hash.slice(1));
      if (!target || target === main) return;
      if (target.closest("[hidden]")) { clear(); target.scrollIntoView(); }
    };
    addEventListener("hashchange", arrive);
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      const target = link && byId(link.getAttribute("href").slice(1));
      if (target?.closest("[hidden]")) { clear(); target.scrollIntoView(); }
    });
    arrive();

    // Where the reader is.
    const visible = new Set();
    const watcher = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) visible.add(target); else visible.delete(target);
      }
      const here = entries.find((entry) => visible.has(entry.element));
      for (const entry of entries) {
        const link = entry.link?.querySelector("a");
        if (!link) continue;
        if (entry !== here) link.removeAttribute("aria-current");
        else if (!link.hasAttribute("aria-current")) {
          link.setAttribute("aria-current", "true");
          const box = link.getBoundingClientRect(), frame = nav.getBoundingClientRect();
          if (box.top < frame.top || box.bottom > frame.bottom) {
            nav.scrollTop += box.top - frame.top - frame.height / 3;
          }
        }
      }
    }, { rootMargin: "-15% 0px -70% 0px" });
    entries.forEach((entry) => watcher.observe(entry.element));

    // Copying. A page from a plain-HTTP host has no clipboard of its own.
    const copy = async (code) => {
      try { await navigator.clipboard.writeText(code.textContent); return true; } catch { /* Below. */ }
      const selection = getSelection();
      selection.selectAllChildren(code);
      const done = document.execCommand("copy");
      if (done) selection.removeAllRanges();
      return done;
    };
    for (const button of find(".copy")) {
      button.addEventListener("click", async () => {
        const done = await copy(button.closest("figure").querySelector("pre code"));
        button.textContent = done ? "Copied" : "Press Ctrl+C";
        said.textContent = done ? "Copied" : "Selected: press Ctrl+C to copy";
        setTimeout(() => { button.textContent = "Copy"; }, 1600);
      });
    }
  });
})();
