"use strict";
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const form = document.getElementById("search");
const input = document.getElementById("words");
const facts = [...document.querySelectorAll(":is(.day, #left) > .facts > .fact")];
let texts;

const search = () => {
  texts ??= facts.map((fact) => plain(fact.textContent));
  const wanted = plain(input.value).split(/\s+/).filter(Boolean);
  const holds = (text) => wanted.every((word) => text.includes(word));
  facts.forEach((fact, i) => {
    fact.hidden = !holds(texts[i]);
    const behind = wanted.length > 0 && !fact.hidden && !holds(plain(fact.querySelector("summary").textContent));
    for (const part of fact.querySelectorAll("details")) part.open = behind && holds(plain(part.textContent));
  });
  for (const group of document.querySelectorAll(".day, .month, #left")) {
    group.hidden = !group.querySelector(":is(.day, #left) > .facts > .fact:not([hidden])");
  }
  const found = facts.filter((fact) => !fact.hidden).length;
  document.getElementById("hits").textContent = wanted.length ? `${found} found` : "";
};

// Browsers of late open what a link leads into by themselves; this is for the others.
const reveal = () => {
  const place = document.getElementById(location.hash.slice(1));
  for (let at = place?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  place?.scrollIntoView();
};

form.hidden = facts.length === 0;
form.addEventListener("submit", (event) => event.preventDefault());
input.addEventListener("input", search);
addEventListener("hashchange", reveal);
