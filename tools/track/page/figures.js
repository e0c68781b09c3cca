// ---- figures and verdicts

const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const trimmed = (value, digits) => String(Number(value.toPrecision(digits)));

function scaled(value, units, base, digits) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= base) value /= base, ++unit;
  return `${trimmed(value, digits)} ${units[unit]}`;
}

// A value of a unit: "12.34 µs", "1.5 MiB", "24"; "–" for what is not known.
function figure(value, unit) {
  if (!isNumber(value)) return '–';
  if (unit === 's') return value === 0 ? '0 s'
                         : Math.abs(value) >= 1 ? `${trimmed(value, 4)} s`
                         : scaled(value * 1e9, ['ns', 'µs', 'ms'], 1000, 4);
  if (unit === 'bytes') return scaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024, 4);
  const text = Math.abs(value) < 1e15 ? trimmed(value, 10) : trimmed(value, 4);
  return unit ? `${text} ${unit}` : text;
}

// 1.0123 is "+1.23 %".
function change(ratio) {
  if (!isNumber(ratio)) return '–';
  if (ratio === 1) return '0 %';
  const percent = 100 * (ratio - 1);
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 2 : 1)} %`;
}
const share = (value, digits = 2) => isNumber(value) ? `${trimmed(100 * value, digits)} %` : '–';
const hasInterval = effect => effect && effect.blocks > 1 && isNumber(effect.low) && isNumber(effect.high);
const interval = effect => hasInterval(effect) ? `${change(effect.low).replace(' %', '')} to ${change(effect.high)}` : '–';
const date = text => text.replace('T', ' ').replace('Z', ' UTC');
const day = text => text.slice(0, 10);
// "5f76e6a91c3d", "5f76e6a91c3d-dirty".
const shortCommit = commit => commit.replace(/^([0-9a-f]{12})[0-9a-f]*/, '$1').slice(0, 20);
const joined = words => words.filter(Boolean).join(' · ');
const plural = (count, noun, many = `${noun}s`) => `${count} ${count === 1 ? noun : many}`;

function ratioOf(quantity) {
  if (quantity.effect) return quantity.effect.ratio;
  if (!isNumber(quantity.base) || !isNumber(quantity.head)) return null;
  return quantity.base === quantity.head ? 1 : quantity.head / quantity.base;
}

// The first that holds, as in report_text.h.
const standings = ['failed', 'over budget', 'worse', 'better', 'unmeasurable', 'same', 'not judged'];
const marks = {'failed': '✕', 'over budget': '▲', 'worse': '▲', 'better': '▼', 'unmeasurable': '?', 'same': '=', 'not judged': '·'};
const standingOf = quantity => quantity.verdict !== 'failed' && quantity.over_budget ? 'over budget' : quantity.verdict;
function worst(quantities) {
  const gating = quantities.filter(quantity => quantity.gates);
  const ranks = (gating.length ? gating : quantities).map(quantity => standings.indexOf(standingOf(quantity)));
  return ranks.length ? standings[Math.min(...ranks)] : 'same';
}
// Whether anything that gates was found to be as it was, or not, or within its budget.
const judges = report => report.cases.some(one => one.quantities.some(quantity => quantity.gates &&
  (isNumber(quantity.budget) || !['unmeasurable', 'not judged'].includes(standingOf(quantity)))));
const anyGates = report => report.cases.some(one => one.quantities.some(quantity => quantity.gates));
const classOf = standing => standing.replace(' ', '-');
const colorOf = standing => ['failed', 'over budget', 'worse'].includes(standing) ? 'var(--fail)'
  : standing === 'better' ? 'var(--best)' : standing === 'unmeasurable' ? 'var(--default)' : 'var(--muted)';
