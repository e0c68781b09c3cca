// ---- the kernels of a case, base against head

const spent = kernel => isNumber(kernel.seconds) ? kernel.seconds * kernel.launches : 0;

// Kernels that compute the same, in order; then those of one place in the model; the rest is alone.
function paired(base, head) {
  const left = [...base], pairs = head.map(kernel => ({head: kernel}));
  const place = kernel => JSON.stringify([kernel.region, kernel.layers]);
  for (const same of [(a, b) => a.key === b.key && place(a) === place(b), (a, b) => a.key === b.key,
                      (a, b) => place(a) === place(b)])
    for (const pair of pairs.filter(pair => !pair.base)) {
      const at = left.findIndex(kernel => same(kernel, pair.head));
      if (at >= 0) [pair.base] = left.splice(at, 1);
    }
  return [...pairs, ...left.map(kernel => ({base: kernel}))];
}

const palette = ['var(--accent)', 'var(--today)', 'var(--default)', 'var(--best)', 'var(--fail)'];

function kernelBars(parent, pairs, sides) {
  const width = roomIn(parent, 760), row = 32, label = 42, value = 84;
  const most = Math.max(...sides.map(side => pairs.reduce((sum, pair) => sum + (pair[side] ? spent(pair[side]) : 0), 0)));
  if (!(most > 0)) return;
  const svg = element(parent, 'svg', {viewBox: `0 0 ${width} ${row * sides.length}`, class: 'kernel-bars', role: 'img',
                                      'aria-label': 'time of all kernels by side; the table tells the figures'});
  sides.forEach((side, i) => {
    let from = label;
    element(svg, 'text', {x: label - 8, y: row * i + 21, 'text-anchor': 'end'}, side);
    pairs.forEach((pair, number) => {
      if (!pair[side]) return;
      const long = spent(pair[side]) / most * (width - label - value);
      const part = element(svg, 'rect', {x: from, y: row * i + 5, width: Math.max(0, long - 1), height: row - 10, rx: 2,
        fill: palette[number % palette.length], 'fill-opacity': number < palette.length ? 0.85 : 0.5});
      if (long > 60)
        element(svg, 'text', {x: from + 6, y: row * i + 21, style: 'fill: var(--card); pointer-events: none'},
                pair[side].region.slice(0, Math.floor(long / 6.5)));
      part.addEventListener('pointermove', event => showTip(event,
        `${pair[side].region}, ${side}\n${figure(spent(pair[side]), 's')} in ${plural(pair[side].launches, 'launch', 'launches')}`));
      part.addEventListener('pointerleave', hideTip);
      from += long;
    });
    const sum = pairs.reduce((all, pair) => all + (pair[side] ? spent(pair[side]) : 0), 0);
    element(svg, 'text', {x: from + 8, y: row * i + 21, class: 'value'}, figure(sum, 's'));
  });
}

function roofline(parent, kernel, side) {
  if (!kernel || !isNumber(kernel.roofline)) return;
  const line = element(parent, 'div', {class: 'nowrap'});
  const svg = element(line, 'svg', {viewBox: '0 0 60 8', style: 'display: inline-block; width: 60px; margin-right: 6px', 'aria-hidden': true});
  element(svg, 'rect', {x: 0, y: 1, width: 60, height: 6, rx: 3, fill: 'var(--line)'});
  element(svg, 'rect', {x: 0, y: 1, width: 60 * Math.max(0, Math.min(1, kernel.roofline)), height: 6, rx: 3,
                        fill: side === 'head' ? 'var(--accent)' : 'var(--faint)'});
  line.append(`${share(kernel.roofline)} ${side}`);
}

function kernelTable(parent, pairs, sides) {
  const table = element(element(parent, 'div', {class: 'scroll'}), 'table');
  const head = element(element(table, 'thead'), 'tr');
  for (const title of ['kernel', 'changed']) element(head, 'th', {scope: 'col'}, title);
  for (const title of ['launches', ...sides, ...(sides.length > 1 ? ['change'] : [])])
    element(head, 'th', {scope: 'col', class: 'number'}, title);
  element(head, 'th', {scope: 'col'}, 'of the roofline');
  const body = element(table, 'tbody');
  pairs.forEach((pair, number) => {
    const {base, head: now} = pair, any = now ?? base, both = base && now;
    const line = element(body, 'tr');
    const name = element(line, 'td', {class: 'wrap'});
    element(name, 'span', {style: `color: ${palette[number % palette.length]}`, 'aria-hidden': true}, '■ ');
    name.append(any.region || '–');
    element(name, 'div', {class: 'muted mono'}, joined([any.template, any.layers.slice(0, 3).join(', ') +
      (any.layers.length > 3 ? ` and ${any.layers.length - 3} more` : '')]));
    const marked = element(line, 'td', {class: 'wrap'});
    if (sides.length > 1 && !both) element(marked, 'span', {class: 'mark-changed'}, now ? 'new' : 'gone');
    if (both)
      for (const what of ['config', 'tier', 'source'])
        if (base[what] !== now[what]) element(marked, 'span', {class: 'mark-changed'}, what);
    if (both && base.config !== now.config) {
      element(marked, 'div', {class: 'mono muted'}, `− ${base.config}`);
      element(marked, 'div', {class: 'mono'}, `+ ${now.config}`);
    }
    if (both && base.tier !== now.tier) element(marked, 'div', {class: 'mono muted'}, `${base.tier} → ${now.tier}`);
    const launches = both && base.launches !== now.launches ? `${base.launches} → ${now.launches}` : any.launches;
    element(line, 'td', {class: 'number'}, String(launches));
    for (const side of sides) element(line, 'td', {class: 'number'}, figure(pair[side]?.seconds, 's'));
    if (sides.length > 1)
      element(line, 'td', {class: 'number change'}, both && base.seconds > 0 ? change(now.seconds / base.seconds) : '–');
    const roof = element(line, 'td');
    for (const side of sides) roofline(roof, pair[side], side);
  });
}

function kernelBlock(parent, one, hasBase) {
  if (!one.base_kernels.length && !one.head_kernels.length) return;
  const sides = one.base_kernels.length || hasBase ? ['base', 'head'] : ['head'];
  const pairs = paired(one.base_kernels, one.head_kernels);
  const size = pair => Math.max(...sides.map(side => pair[side] ? spent(pair[side]) : 0));
  pairs.sort((a, b) => size(b) - size(a));
  const box = element(parent, 'div', {class: 'block'});
  element(box, 'h3', {}, 'Kernels, times of one launch');
  kernelBars(box, pairs, sides);
  kernelTable(box, pairs, sides);
}
