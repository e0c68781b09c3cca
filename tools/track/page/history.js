// ---- one quantity over stored runs, with its intervals and changes

// 1, 2 and 5 times powers of ten, of bytes in their unit: about `count` of them within [low, high];
// whole numbers where only those are meant.
function linearTicks(low, high, count, unit) {
  if (unit === 'bytes' && high > 1024) {
    const scale = 1024 ** Math.min(4, Math.floor(Math.log2(high) / 10));
    return linearTicks(low / scale, high / scale, count, 's').map(tick => tick * scale);
  }
  const least = unit === 'bytes' ? 1 : 0;
  const rough = Math.max(least, (high - low) / count), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find(digit => digit * power >= rough) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high && ticks.length < 20; ++i) ticks.push(i * step);
  return ticks;
}

const geometricMean = values => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

// The levels between changes: of each stretch its first and last point and its value there. A break ends a level as a step does.
function levels(points, history) {
  const changes = [...history.changes, ...breaks(history).map(one => ({kind: 'step', first: one.point, last: one.point}))];
  const known = (from, to) => points.slice(from, to + 1).map(p => p.value).filter(value => value > 0);
  const stretches = [];
  let from = 0;
  for (const one of [...changes].sort((a, b) => a.first - b.first)) {
    if (one.first > from) stretches.push({from, to: one.first - (one.kind === 'step' ? 1 : 0)});
    if (one.kind === 'drift') stretches.push({from: one.first, to: one.last, drift: one});
    from = one.last;
  }
  if (from < points.length) stretches.push({from, to: points.length - 1});
  for (const stretch of stretches) {
    const values = known(stretch.from, stretch.to);
    if (!values.length) continue;
    const middle = geometricMean(values), slope = stretch.drift ? Math.sqrt(stretch.drift.ratio ?? 1) : 1;
    stretch.start = middle / slope;
    stretch.end = middle * slope;
  }
  return stretches.filter(stretch => stretch.start > 0);
}

const breaks = history => history.breaks ?? [];

const runText = (report, point) => {
  const run = report.runs[point.run];
  return joined([run.run, shortCommit(run.commit), date(run.date)]);
};

// From 0 a change has no ratio.
const valueBefore = (history, one) => history.points[Math.max(0, one.first - 1)].value;
const valueAfter = (history, one) => history.points[one.last].value;
const rises = (history, one) => isNumber(one.ratio) ? one.ratio > 1 : valueAfter(history, one) > valueBefore(history, one);
const sizeText = (history, one) => isNumber(one.ratio) ? change(one.ratio)
  : `${figure(valueBefore(history, one), history.unit)} to ${figure(valueAfter(history, one), history.unit)}`;

function changeText(report, history, one) {
  const at = index => runText(report, history.points[index]);
  const size = (isNumber(one.ratio) ? 'of ' : 'from ') + sizeText(history, one);
  return one.kind === 'step' ? `step ${size} at ${at(one.first)}` : `drift ${size} from ${at(one.first)} to ${at(one.last)}`;
}

const isConstant = history => history.points.length > 0 &&
  history.points.every(point => point[1] === history.points[0][1] && point[2] === point[1] && point[3] === point[1]);

// Those of a case: what never changed is said, the rest is drawn.
function historyBlock(parent, report, one) {
  const plots = element(parent, 'div', {class: 'histories'});
  const drawn = one.histories.filter(history => !isConstant(history));
  // All boxes before the first drawing: only then is their width known.
  const boxes = drawn.map(() => element(plots, 'div', {class: 'block'}));
  drawn.forEach((history, i) => historyPlot(
    boxes[i], report, history, one.quantities.find(quantity => quantity.name === history.quantity)?.budget));
  const constant = one.histories.filter(isConstant);
  if (constant.length)
    element(parent, 'p', {class: 'muted constant'}, `The same in all runs: ${constant.map(history =>
      `${history.quantity} ${figure(history.points[0][1], history.unit)} (${plural(history.points.length, 'run')})`).join(', ')}.`);
}

function historyPlot(box, report, history, budget) {
  element(box, 'h3', {}, `${history.quantity} over ${plural(history.points.length, 'run')}`);
  const points = history.points.map(([run, value, low, high], index) => ({run, value, low, high, index}));
  const shown = {...history, points};
  const known = points.filter(point => isNumber(point.value));
  if (!known.length) {
    element(box, 'p', {class: 'muted'}, 'No run has this quantity.');
    return;
  }
  const width = roomIn(box, 620), height = 210, left = 64, right = 12, top = 20, bottom = 26;
  const ends = known.flatMap(p => [p.value, isNumber(p.low) ? p.low : p.value, isNumber(p.high) ? p.high : p.value]);
  let low = ends.reduce((a, b) => Math.min(a, b)), high = ends.reduce((a, b) => Math.max(a, b));
  if (isNumber(budget) && budget < high * 1.5 && budget > low / 1.5) low = Math.min(low, budget), high = Math.max(high, budget);
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
  low = low >= 0 ? Math.max(0, low - room) : low - room;
  high += room;
  const x = index => left + (index + 0.5) / points.length * (width - left - right);
  const y = value => top + (high - value) / (high - low) * (height - top - bottom);
  const changes = history.changes.map(one => changeText(report, shown, one));
  const broken = breaks(history).map(one => `${one.why} at ${runText(report, points[one.point])}`);
  const svg = element(box, 'svg', {viewBox: `0 0 ${width} ${height}`, class: 'history', role: 'img', tabindex: 0,
    'aria-label': `${history.quantity} over ${plural(points.length, 'run')}, last ` +
      `${figure(known[known.length - 1].value, history.unit)}. ` +
      ([...changes, ...broken].join('; ') || 'No change was found') + '. Arrow keys tell each run.'});

  for (const tick of linearTicks(low, high, 4, history.unit)) {
    element(svg, 'line', {x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: 'var(--line)'});
    element(svg, 'text', {x: left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, figure(tick, history.unit));
  }
  const labels = points.length > 3 && width > 400 ? [0, Math.floor((points.length - 1) / 2), points.length - 1] : [0, points.length - 1];
  for (const index of new Set(labels))
    element(svg, 'text', {x: Math.max(left + 26, Math.min(width - right - 28, x(index))), y: height - 8,
                          'text-anchor': 'middle'}, day(report.runs[points[index].run].date));
  if (isNumber(budget) && budget >= low && budget <= high) {
    element(svg, 'line', {x1: left, x2: width - right, y1: y(budget), y2: y(budget), stroke: 'var(--fail)',
                          'stroke-width': 1.5, 'stroke-dasharray': '2 4'});
    element(svg, 'text', {x: width - right, y: y(budget) - 4, 'text-anchor': 'end'}, 'budget');
  }
  for (const one of history.changes) {
    const color = rises(shown, one) ? 'var(--fail)' : 'var(--best)';
    const drift = one.kind === 'drift';
    const from = x(one.first) - (drift ? 0 : 0.5 * (x(1) - x(0))), to = x(one.last);
    if (drift)
      element(svg, 'rect', {class: 'drift', x: from, y: top, width: Math.max(1, to - from), height: height - top - bottom,
                            fill: color, 'fill-opacity': 0.1});
    else
      element(svg, 'line', {class: 'step', x1: from, x2: from, y1: top - 4, y2: height - bottom, stroke: color,
                            'stroke-width': 1.5, 'stroke-dasharray': '5 3'});
    const middle = drift ? (from + to) / 2 : from;
    element(svg, 'text', {x: Math.max(left + 34, Math.min(width - right - 34, middle)), y: top - 8, 'text-anchor': 'middle',
                          style: `fill: ${color}; font-weight: 600`}, `${drift ? 'drift ' : ''}${sizeText(shown, one)}`);
  }
  for (const one of breaks(history)) {
    const at = x(one.point) - 0.5 * (x(1) - x(0));
    element(svg, 'line', {class: 'break', x1: at, x2: at, y1: top - 4, y2: height - bottom, stroke: 'var(--muted)', 'stroke-width': 1.5});
    element(svg, 'text', {x: Math.max(left + 50, Math.min(width - right - 50, at)), y: height - bottom - 6, 'text-anchor': 'middle'}, one.why);
  }
  // One path for all intervals, and one for all points: there may be thousands.
  const at = value => value.toFixed(1);
  element(svg, 'path', {d: known.filter(p => isNumber(p.low) && isNumber(p.high) && p.high > p.low)
    .map(p => `M${at(x(p.index))} ${at(y(p.low))}V${at(y(p.high))}`).join(''),
    stroke: 'var(--accent)', 'stroke-opacity': 0.35, 'stroke-width': Math.max(1, Math.min(4, 300 / points.length)), fill: 'none'});
  element(svg, 'path', {d: known.map(p => `M${at(x(p.index))} ${at(y(p.value))}h0`).join(''),
    stroke: 'var(--accent)', 'stroke-width': Math.max(2.5, Math.min(5, 600 / points.length)), 'stroke-linecap': 'round', fill: 'none'});
  element(svg, 'path', {class: 'level', d: levels(points, history)
    .map(s => `M${at(x(s.from))} ${at(y(s.start))}L${at(x(s.to))} ${at(y(s.end))}`).join(''),
    stroke: 'var(--text)', 'stroke-opacity': 0.75, 'stroke-width': 1.5, fill: 'none'});

  const focus = element(svg, 'circle', {r: 5, fill: 'none', stroke: 'var(--text)', 'stroke-width': 2, visibility: 'hidden'});
  let current = known.length - 1;
  const tell = (number, event) => {
    current = Math.max(0, Math.min(known.length - 1, number));
    const point = known[current];
    focus.setAttribute('cx', x(point.index));
    focus.setAttribute('cy', y(point.value));
    focus.setAttribute('visibility', 'visible');
    const box = svg.getBoundingClientRect();
    const place = event ?? {clientX: box.left + x(point.index) / width * box.width,
                            clientY: box.top + y(point.value) / height * box.height};
    const range = isNumber(point.low) && isNumber(point.high) && point.high > point.low
                ? ` (${figure(point.low, history.unit)} to ${figure(point.high, history.unit)})` : '';
    const here = history.changes.flatMap((one, i) => point.index >= one.first && point.index <= one.last ? [changes[i]] : [])
      .concat(breaks(history).flatMap((one, i) => point.index === one.point ? [broken[i]] : []));
    showTip(place, [figure(point.value, history.unit) + range, runText(report, point), ...here].join('\n'));
  };
  const end = () => { hideTip(); focus.setAttribute('visibility', 'hidden'); };
  const nearest = event => {
    const box = svg.getBoundingClientRect(), px = (event.clientX - box.left) / box.width * width;
    let best = 0;
    known.forEach((point, i) => { if (Math.abs(x(point.index) - px) < Math.abs(x(known[best].index) - px)) best = i; });
    tell(best, event);
  };
  svg.addEventListener('pointermove', nearest);
  svg.addEventListener('pointerdown', nearest);
  svg.addEventListener('pointerleave', end);
  svg.addEventListener('blur', end);
  svg.addEventListener('keydown', event => {
    const moved = {ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: known.length - 1}[event.key];
    if (event.key === 'Escape') return end();
    if (moved === undefined) return;
    event.preventDefault();
    tell(moved);
  });
  if (changes.length + broken.length) {
    const list = element(box, 'ul', {class: 'changes'});
    for (const text of [...changes, ...broken]) element(list, 'li', {}, text);
  }
}
