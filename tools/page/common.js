// The pages of reports share these: their data, elements, times and the tip.
'use strict';
// A fault shows where a program that opened the page can see it.
window.onerror = (message, source, line) => {
  document.title = `report error: ${message} (line ${line})`;
};

const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');

// ---- elements and numbers

function element(parent, tag, attributes = {}, text = '') {
  const svg = tag === 'svg' || parent.namespaceURI === 'http://www.w3.org/2000/svg';
  const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag)
                   : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== '') made.textContent = text;
  parent.append(made);
  return made;
}

// The width of a drawing in units of CSS pixels, so that its text is as large as all other.
const roomIn = (parent, most) => Math.max(280, Math.min(most, parent.clientWidth || most));

function time(seconds) {
  if (!(seconds > 0)) return '–';
  const [scale, unit] = seconds >= 1 ? [1, 's'] : seconds >= 1e-3 ? [1e3, 'ms']
                      : seconds >= 1e-6 ? [1e6, 'µs'] : [1e9, 'ns'];
  return `${Number((seconds * scale).toPrecision(3))} ${unit}`;
}

// ---- the tip beside the pointer

const tip = document.getElementById('tip');
function showTip(event, text) {
  tip.textContent = text;
  tip.style.display = 'block';
  const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = `${right ? Math.max(0, event.clientX - 12 - tip.offsetWidth) : event.clientX + 16}px`;
  tip.style.top = `${Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4)}px`;
}
const hideTip = () => { tip.style.display = 'none'; };
