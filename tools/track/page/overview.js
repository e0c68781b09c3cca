// ---- the page

function sideText(side) {
  return joined([side.label, side.version, shortCommit(side.commit), side.date && date(side.date)]);
}

function titleOf(report) {
  return (report.head.label || 'run') + (report.base.label ? ` against ${report.base.label}` : '');
}

function headOf(report) {
  const head = element(page, 'header');
  element(head, 'h1', {}, titleOf(report));
  const [kind, mark, words] =
    !report.passes ? ['fails', '✕', 'Fails: something that gates is worse, failed or over its budget']
    : judges(report) ? ['passes', '✓', 'Passes: nothing that gates is worse, failed or over its budget']
    : ['neutral', '·', anyGates(report) ? 'Nothing could be judged' : 'Nothing was to be judged: a history is judged with --gate'];
  const verdict = element(head, 'p', {class: `verdict ${kind}`});
  element(verdict, 'span', {class: 'mark', 'aria-hidden': true}, mark);
  verdict.append(words);
  const facts = element(head, 'dl', {class: 'facts'});
  const fact = (name, text, attributes = {}) => {
    if (!text) return;
    element(facts, 'dt', /whole/.test(attributes.class) ? {class: 'whole'} : {}, name);
    element(facts, 'dd', attributes, text);
  };
  fact('device', joined([report.description, report.device, report.target]));
  fact('driver', report.driver);
  fact('base', sideText(report.base));
  fact('head', sideText(report.head));
  fact('date', joined([report.date && date(report.date), report.seconds > 0 && `${trimmed(report.seconds, 3)} s of measuring`]));
  fact('tcc-track', joined([report.version, shortCommit(report.commit)]));
  fact('command', report.command, {class: 'mono whole'});
}

function tiles(report, counts) {
  const place = element(page, 'div', {class: 'tiles'});
  const tile = (value, text, standing) => {
    const made = element(place, 'div', {class: 'tile'});
    element(made, 'b', standing && value !== 0 ? {class: classOf(standing)} : {}, String(value));
    element(made, 'span', {class: 'muted'}, text);
  };
  tile(report.cases.length, report.cases.length === 1 ? 'case' : 'cases');
  for (const standing of ['failed', 'over budget', 'worse', 'better', 'unmeasurable'])
    if (counts[standing] || (standing === 'worse' && judges(report))) tile(counts[standing], standing, standing);
  tile(share(report.false_alarms), 'chance of a false alarm in a run without any change');
  const seen = report.cases.flatMap(one => one.quantities)
    .filter(quantity => quantity.verdict === 'same' && isNumber(quantity.visible)).map(quantity => quantity.visible);
  if (seen.length)
    tile(share(seen.reduce((a, b) => Math.max(a, b))), `or more is seen with ${share(report.power)} where it says same`);
  else if (report.cases.some(one => one.quantities.some(quantity => quantity.effect)))
    tile(share(report.smallest), 'is the change to be seen');
}

function toolsOf(report, counts, redraw) {
  const place = element(page, 'div', {class: 'tools', role: 'group', 'aria-label': 'what the table shows'});
  const text = element(place, 'input', {type: 'search', placeholder: 'filter by words', 'aria-label': 'filter by words', value: view.text});
  text.addEventListener('input', () => { view.text = text.value; redraw(); });
  const choose = (label, entries, chosen, attributes, change) => {
    const select = element(place, 'select', {'aria-label': label, ...attributes});
    for (const [value, words] of entries) element(select, 'option', {value, ...(value === chosen ? {selected: ''} : {})}, words);
    select.addEventListener('change', () => { change(select.value); redraw(); });
  };
  const names = [...new Set(report.cases.flatMap(one => one.quantities.map(quantity => quantity.name)))];
  choose('quantity', [['', 'what matters most'], ...names.map(name => [name, name])], view.quantity, {},
         value => { view.quantity = value; });
  choose('sort by', Object.keys(columns).map(column => [column, `by ${column}`]), view.sort, {class: 'sort-by'},
         value => { view.sort = value; view.descending = false; });
  for (const standing of standings.filter(standing => counts[standing])) {
    const chip = element(place, 'button', {type: 'button', class: 'chip', 'aria-pressed': !view.hidden.has(standing)});
    verdictText(chip, standing);
    element(chip, 'b', {}, String(counts[standing]));
    chip.addEventListener('click', () => {
      if (!view.hidden.delete(standing)) view.hidden.add(standing);
      chip.setAttribute('aria-pressed', !view.hidden.has(standing));
      redraw();
    });
  }
}

function draw(number) {
  const report = data[number];
  page.replaceChildren();
  document.title = `${titleOf(report)} – tcc-track report`;
  if (data.length > 1) {
    const select = element(page, 'select', {'aria-label': 'report', class: 'reports'});
    data.forEach((one, i) => element(select, 'option', {value: i, ...(i === number ? {selected: ''} : {})},
                                     joined([titleOf(one), one.description || one.device, one.date && date(one.date)])));
    select.addEventListener('change', () => { view.open.clear(); draw(Number(select.value)); });
  }
  const counts = Object.fromEntries(standings.map(standing => [standing, 0]));
  for (const one of report.cases) ++counts[worst(one.quantities)];
  headOf(report);
  tiles(report, counts);
  if (report.notes.length) {
    const notes = element(element(page, 'div', {class: 'card notes'}), 'ul');
    for (const note of report.notes) element(notes, 'li', {}, note);
  }
  const place = document.createElement('div');
  place.className = 'card cases';
  const redraw = () => drawTable(place, report);
  toolsOf(report, counts, redraw);
  page.append(place);
  const asked = /^#case-(\d+)$/.exec(location.hash);
  if (asked) view.open.add(Number(asked[1]));
  redraw();
  if (asked) document.getElementById(`case-${asked[1]}`)?.scrollIntoView();
  element(page, 'footer', {}, 'Change is head over base; less is better for every quantity. ' +
    (report.cases.some(one => one.quantities.some(quantity => quantity.base_samples?.length))
      ? 'Of times it is the median ratio of pairs: base and head are medians of their own, whose ratio may differ from it. ' : '') + 'The bar shows the ratio and its 95 % ' +
    'interval, all rows on one scale; an arrow lies beyond it. "Would see" is the smallest change that would have been found in this case. ' +
    'A case is as good as the worst of its quantities that gate. In a history, lines are levels, dashes are steps and shaded stretches drifts.');
  // On paper nothing can be opened: what changed is, for as long as it is printed.
  window.onbeforeprint = () => {
    const before = new Set(view.open);
    report.cases.forEach((one, i) => { if (standings.indexOf(worst(one.quantities)) <= 3 && view.open.size < 40) view.open.add(i); });
    redraw();
    window.onafterprint = () => { view.open = before; redraw(); };
  };
  document.documentElement.dataset.drawn = report.cases.length;
}

draw(0);
