"use strict";
(() => {
  const rowsOf = new Map(), buttons = new Map();
  const strip = document.querySelector(".strip");
  const hint = strip ? strip.textContent : "";
  const rows = [...document.querySelectorAll(".l[data-s],.l[data-d]")];
  const ids = (text) => (text ? text.split(" ") : []);
  for (const row of rows)
    for (const id of [...ids(row.dataset.s), ...ids(row.dataset.o)]) {
      if (!rowsOf.has(id)) rowsOf.set(id, []);
      rowsOf.get(id).push(row);
    }
  for (const button of document.querySelectorAll("button[data-slice]")) buttons.set(button.dataset.slice, button);
  let lit = [], pinned = null;
  const dark = () => { for (const [element, space] of lit) element.classList.remove("lit", space); lit = []; };
  const light = (slices) => {
    dark();
    for (const id of slices) {
      const button = buttons.get(id);
      if (!button) continue;
      const space = "lit-" + button.dataset.space;
      for (const element of [button, ...(rowsOf.get(id) || [])]) {
        if (element.classList.contains("lit")) continue;
        element.classList.add("lit", space);
        lit.push([element, space]);
      }
    }
  };
  const show = (target) => {
    const element = target instanceof Element ? target.closest(".l[data-d],button[data-slice]") : null;
    if (!element) { light(pinned ? [pinned] : []); if (strip) strip.textContent = hint; return; }
    light(element.dataset.slice ? [element.dataset.slice] : ids(element.dataset.s));
    if (strip) strip.textContent = element.dataset.d;
  };
  document.addEventListener("mouseover", (event) => show(event.target));
  document.addEventListener("focusin", (event) => show(event.target));
  document.addEventListener("mouseleave", () => show(null));
  const visit = (row) => {
    if (!row) return;
    for (let at = row; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const box = row.closest(".src"), left = box.scrollLeft;
    row.focus();
    box.scrollLeft = left; /* a row is wider than its box */
  };
  const pin = (id) => {
    if (pinned) buttons.get(pinned)?.setAttribute("aria-pressed", "false");
    pinned = pinned === id ? null : id;
    if (pinned) buttons.get(pinned)?.setAttribute("aria-pressed", "true");
    light(pinned ? [pinned] : []);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-slice]");
    if (button) pin(button.dataset.slice);
    const row = event.target.closest(".l[data-d]");
    if (row && event.target.closest("a") === null) visit(row);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned) pin(pinned);
    const row = event.target.closest?.(".l[data-d]");
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!row || !step) return;
    event.preventDefault();
    visit(rows[rows.indexOf(row) + step]);
  });
  const open = () => {
    const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
