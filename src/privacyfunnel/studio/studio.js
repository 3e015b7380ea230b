// The slider and the number for ε show the same; a file that is too large is not sent at all; the secret is not released.
"use strict";

document.documentElement.lang = "en";

// Shiny draws what can be seen; what was folded away is drawn when it is unfolded.
document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);

function nearest(values, wanted) {
  let best = 0;
  values.forEach((value, i) => {
    if (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(values[best] / wanted))) best = i;
  });
  return best;
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "slider") return;
  const value = event.target.dataset.values.split(",")[event.target.value];
  event.target.setAttribute("aria-valuetext", "ε = " + value);
  document.getElementById("epsilon").value = value;
});

document.addEventListener("change", (event) => {
  const number = document.getElementById("epsilon");
  const slider = document.getElementById("slider");
  if (event.target.id === "slider" && number) {
    number.dispatchEvent(new Event("change", { bubbles: true }));
  } else if (event.target.id === "epsilon" && slider && Number(number.value) > 0) {
    slider.value = nearest(slider.dataset.values.split(",").map(Number), Number(number.value));
    slider.setAttribute("aria-valuetext", "ε = " + number.value);
  }
});

document.addEventListener("change", (event) => {
  if (event.target.id !== "file" || !event.target.files.length) return;
  const most = Number(document.getElementById("upload").dataset.mostBytes);
  const file = event.target.files[0];
  if (file.size <= most) return;
  event.stopImmediatePropagation();
  event.target.value = "";
  Shiny.setInputValue("too_large", { name: file.name, size: file.size }, { priority: "event" });
}, true);

// The secret is not released: its box is empty and cannot be ticked.
document.addEventListener("change", (event) => {
  if (event.target.name !== "secret" || event.target.type !== "radio") return;
  document.querySelectorAll('input[type="checkbox"][name="attributes"]').forEach((box) => {
    const secret = box.value === event.target.value;
    box.disabled = secret || "unusable" in box.dataset;
    if (secret && box.checked) {
      box.checked = false;
      box.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
});

// A number or borders are asked for only where they mean something.
document.addEventListener("change", (event) => {
  if (!event.target.matches("select.cut")) return;
  const typed = document.getElementById(event.target.id.replace("cut_", "cut_at_"));
  if (typed) typed.hidden = !["bins", "top"].includes(event.target.value);
});

// The seconds of a search go on, also while the server is too busy with it to tell.
setInterval(() => {
  const words = document.querySelector(".searching p")?.lastChild;
  if (words) words.textContent = words.textContent.replace(/(\d+) s\.$/, (_, seconds) => Number(seconds) + 1 + " s.");
}, 1000);
