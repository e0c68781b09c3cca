// ---- the table of cases

// The rows that are shown: set by the tools above the table.
const view = {text: '', hidden: new Set(), quantity: '', sort: 'verdict', descending: false, open: new Set()};

// The quantity of a case that the table shows: the chosen one, or what matters most.
function shownQuantity(one) {
  if (view.quantity) return one.quantities.find(quantity => quantity.name === view.quantity);
  const standing = worst(one.quantities);
  return one.quantities.find(quantity => standingOf(quantity) === standing && quantity.gates)
    ?? one.quantities.find(quantity => quantity.reason) ?? one.quantities[0];
}

const distance = ratio => isNumber(ratio) && ratio > 0 ? Math.abs(Math.log(ratio)) : 0;

function rowsOf(report) {
  const rows = report.cases.map((one, index) => {
    const quantity = shownQuantity(one);
    return {one, index, quantity, standing: quantity && view.quantity ? standingOf(quantity) : worst(one.quantities),
            ratio: quantity ? ratioOf(quantity) : null};
  });
  return rows.filter(row => row.quantity || !view.quantity);
}

const columns = {
  case: row => row.one.name,
  quantity: row => row.quantity?.name ?? '',
  verdict: row => [standings.indexOf(row.standing), -distance(row.ratio), row.quantity?.reason ? 0 : 1],
  change: row => row.ratio ?? -Infinity,
  base: row => row.quantity?.base ?? -Infinity,
  head: row => row.quantity?.head ?? -Infinity,
  'would see': row => row.quantity?.visible ?? -Infinity,
};
const titles = {case: 'case', quantity: 'quantity', verdict: 'verdict', change: 'change, 95 % interval', base: 'base', head: 'head',
                'would see': 'would see'};
const numeric = ['base', 'head', 'would see'];

function compared(a, b) {
  if (Array.isArray(a)) return a.reduce((found, value, i) => found || compared(value, b[i]), 0);
  if (typeof a === 'string') return a.localeCompare(b, 'en', {numeric: true});
  return a < b ? -1 : a > b ? 1 : 0;
}

// The ratio as a dot with its interval, on a scale that all rows share.
function intervalBar(parent, row, limit) {
  if (!isNumber(row.ratio) || !(row.ratio > 0)) return;
  const width = 210, middle = 8, color = colorOf(row.standing);
  const x = ratio => width / 2 + Math.max(-1, Math.min(1, Math.log(Math.max(ratio, 1e-9)) / limit)) * (width / 2 - 6);
  const svg = element(parent, 'svg', {viewBox: `0 0 ${width} 16`, 'aria-hidden': true});
  element(svg, 'line', {x1: 0, x2: width, y1: middle, y2: middle, stroke: 'var(--line)'});
  element(svg, 'line', {x1: width / 2, x2: width / 2, y1: 1, y2: 15, stroke: 'var(--faint)'});
  const effect = row.quantity.effect;
  if (hasInterval(effect))
    element(svg, 'line', {x1: x(effect.low), x2: Math.max(x(effect.high), x(effect.low) + 1), y1: middle, y2: middle, stroke: color,
                          'stroke-width': 6, 'stroke-opacity': 0.35, 'stroke-linecap': 'round'});
  const beyond = Math.abs(Math.log(row.ratio)) > limit;
  if (beyond) {
    const way = row.ratio > 1 ? 1 : -1, tip = x(row.ratio) + 5 * way;
    element(svg, 'path', {d: `M${tip - 8 * way} 3L${tip} ${middle}L${tip - 8 * way} 13z`, fill: color});
  } else {
    element(svg, 'circle', {cx: x(row.ratio), cy: middle, r: 4, fill: color});
  }
}

function verdictText(parent, standing, tag = 'span', attributes = {}) {
  const made = element(parent, tag, {...attributes, class: `${attributes.class ?? ''} ${classOf(standing)}`.trim()});
  element(made, 'span', {'aria-hidden': true}, `${marks[standing]} `);
  made.append(standing);
  return made;
}

function quantityTable(parent, report, one) {
  const gating = anyGates(report);
  const box = element(parent, 'div', {class: 'block'});
  element(box, 'h3', {}, joined(['Quantities', one.file && `${one.file}${one.line > 0 ? `:${one.line}` : ''}`]));
  const table = element(element(box, 'div', {class: 'scroll'}), 'table', {class: 'quantities'});
  const head = element(element(table, 'thead'), 'tr');
  for (const title of ['quantity', 'verdict']) element(head, 'th', {scope: 'col'}, title);
  for (const title of ['base', 'head', 'change', '95 % interval', 'p', 'would see', 'blocks', 'budget'])
    element(head, 'th', {scope: 'col', class: 'number'}, title);
  element(head, 'th', {scope: 'col'}, 'reason');
  const body = element(table, 'tbody');
  for (const quantity of one.quantities) {
    const line = element(body, 'tr');
    element(line, 'td', {}, quantity.name + (quantity.gates || !gating ? '' : ' (does not gate)'));
    verdictText(line, standingOf(quantity), 'td');
    for (const text of [figure(quantity.base, quantity.unit), figure(quantity.head, quantity.unit), change(ratioOf(quantity)),
                        interval(quantity.effect), isNumber(quantity.p) ? trimmed(quantity.p, 2) : '–', share(quantity.visible),
                        quantity.effect ? String(quantity.effect.blocks) : '–', figure(quantity.budget, quantity.unit)])
      element(line, 'td', {class: 'number'}, text);
    element(line, 'td', {class: 'wrap'}, quantity.reason);
  }
}

function drawDetails(after, report, row, columnCount) {
  const line = element(after.parentNode, 'tr', {class: 'details', id: `details-${row.index}`});
  after.after(line);
  const box = element(element(line, 'td', {colspan: columnCount}), 'div');
  quantityTable(box, report, row.one);
  kernelBlock(box, row.one, Boolean(report.base.label));
  if (!row.one.histories.length) return;
  historyBlock(box, report, row.one);
}

function drawRow(body, report, row, limit, shown) {
  const {one, index, quantity} = row;
  const line = element(body, 'tr', {id: `case-${index}`, class: 'case'});
  const name = element(line, 'td', {class: 'name'});
  const open = element(name, 'button', {class: 'open', type: 'button', 'aria-expanded': view.open.has(index),
                                        'aria-controls': `details-${index}`}, one.name || 'a case without a name');
  const reason = joined([quantity?.over_budget && `the budget is ${figure(quantity.budget, quantity.unit)}`, quantity?.reason]);
  if (reason) element(name, 'div', {class: 'reason'}, reason);
  if (shown.includes('quantity')) element(line, 'td', {class: 'muted'}, quantity?.name ?? '');
  verdictText(line, row.standing, 'td', {class: 'verdict-cell'});
  const bar = element(line, 'td', {class: 'interval'});
  intervalBar(bar, row, limit);
  element(bar, 'span', {class: 'change'}, change(row.ratio));
  if (hasInterval(quantity?.effect)) element(bar, 'span', {class: 'muted'}, ` (${interval(quantity.effect)})`);
  for (const column of numeric.filter(column => shown.includes(column)))
    element(line, 'td', {class: 'number figure', 'data-label': column},
            column === 'would see' ? share(quantity?.visible) : figure(quantity?.[column], quantity?.unit));
  if (view.open.has(index)) drawDetails(line, report, row, shown.length);
  open.addEventListener('click', () => {
    const opens = !view.open.delete(index);
    open.setAttribute('aria-expanded', opens);
    if (!opens) return document.getElementById(`details-${index}`).remove();
    view.open.add(index);
    drawDetails(line, report, row, shown.length);
  });
}

function drawTable(place, report) {
  place.replaceChildren();
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = rowsOf(report);
  const holds = row => !view.hidden.has(row.standing) &&
    words.every(word => `${row.one.name} ${row.quantity?.name} ${row.quantity?.reason}`.toLowerCase().includes(word));
  const key = columns[view.sort];
  const rows = all.filter(holds).sort((a, b) => compared(key(a), key(b)) * (view.descending ? -1 : 1) || a.index - b.index);
  const distances = all.map(row => distance(row.ratio)).sort((a, b) => a - b);
  const limit = Math.max(0.002, 3 * report.smallest, 1.1 * (distances[Math.floor(distances.length * 0.9)] ?? 0));
  const has = side => all.some(row => isNumber(row.quantity?.[side]));
  const shown = Object.keys(columns).filter(column => (column !== 'quantity' || !view.quantity) &&
    (!['base', 'head'].includes(column) || has(column)) &&
    (column !== 'would see' || all.some(row => isNumber(row.quantity?.visible))));

  const table = element(place, 'table', {role: 'table'});
  element(table, 'caption', {class: 'sr'}, `Cases, sorted by ${view.sort}`);
  const head = element(element(table, 'thead'), 'tr');
  for (const column of shown) {
    const sorted = view.sort === column ? {'aria-sort': view.descending ? 'descending' : 'ascending'} : {};
    const title = element(head, 'th', {scope: 'col', class: numeric.includes(column) ? 'number' : '', ...sorted});
    element(title, 'button', {type: 'button'}, titles[column]).addEventListener('click', () => {
      view.descending = view.sort === column && !view.descending;
      view.sort = column;
      drawTable(place, report);
      place.querySelector('[aria-sort] button').focus();
    });
  }
  const body = element(table, 'tbody');
  for (const row of rows) drawRow(body, report, row, limit, shown);
  // On a phone the rows are no rows to CSS; to a screen reader they stay a table.
  for (const line of table.rows) {
    line.setAttribute('role', 'row');
    for (const cell of line.cells) cell.setAttribute('role', cell.tagName === 'TH' ? 'columnheader' : 'cell');
  }
  if (!rows.length) element(place, 'p', {class: 'none muted'}, all.length ? 'No case is left by the filter.' : 'There is no case.');
  place.dataset.rows = rows.length;
}
