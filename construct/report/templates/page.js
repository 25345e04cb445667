"use strict";
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const form = document.getElementById("search");
const input = document.getElementById("words");
const hits = document.getElementById("hits");
const facts = [...document.querySelectorAll(".day > .facts > .fact, #left > .facts > .fact")];
let texts;
const search = () => {
  texts ??= facts.map((fact) => plain(fact.textContent));
  const wanted = plain(input.value).split(/\s+/).filter(Boolean);
  let found = 0;
  facts.forEach((fact, i) => {
    const hit = wanted.every((word) => texts[i].includes(word));
    fact.hidden = !hit;
    found += hit;
  });
  for (const group of document.querySelectorAll(".day, .month, #left")) {
    group.hidden = !group.querySelector(".fact:not([hidden])");
  }
  hits.textContent = wanted.length ? `${found} found` : "";
};
form.hidden = facts.length === 0;
form.addEventListener("submit", (event) => event.preventDefault());
input.addEventListener("input", search);
