// model.js - the text of the model, with what each line costs.
'use strict';

/** Figures by line ("gpt2.tsr:31"). */
function figuresByLine() {
  const rows = shownCosts();
  const [measure, whole] = [measureOf(rows), wholeOf(rows)];
  const part = new Map();
  for (const row of rows)
    if (row.key && row[measure] !== undefined)
      part.set(row.key, (part.get(row.key) || 0) + row[measure] / whole);
  const memory = shownMemory();
  return {measure, part, saved: memory.mostByLine('saved'), peak: memory.bytesByLine(memory.peak)};
}

function textRow(name, {number, text}, figures, most) {
  const key = `${name}:${number}`;
  const part = figures.part.get(key);
  const bytes = (of) => element('td', {className: 'number'}, of.has(key) ? formatBytes(of.get(key)) : '');
  const show = () => {
    changeView({find: key, rows: undefined});
    document.getElementById('costs').scrollIntoView();
  };
  return element(
      'tr', {data: {line: key}},
      element('td', {className: 'number'}, part === undefined ? '' : element(
          'button', {title: 'show the kernels of this line', onclick: show}, formatPart(part))),
      element('td', {className: 'wide'}, part === undefined ? null : bar(part / most)),
      bytes(figures.saved), bytes(figures.peak),
      element('td', {className: 'number quiet'}, String(number)),
      element('td', {className: 'code'}, text));
}

function fileTable({name, lines}, figures) {
  const most = Math.max(...figures.part.values());
  const titles = [`share of ${figures.measure}`, '', 'most saved', 'live at the peak', '', name];
  const meanings = [
    'of the entry function, gradients included', '',
    'the most bytes that its values of the kind saved, which the backward pass reads, have at any moment',
    'the bytes that its values of all kinds have at the peak',
  ];
  return element('table', {className: 'text'},
                 element('thead', {}, element('tr', {}, titles.map((title, i) => element(
                     'th', {className: i < 4 ? 'number' : '', title: meanings[i] || ''}, title)))),
                 element('tbody', {}, lines.map((line) => textRow(name, line, figures, most))));
}

function showModel(section) {
  const texts = modelTexts();
  if (texts.length === 0) return;
  const note = element('p', {className: 'quiet'});
  const files = element('div');
  section.append(element('h2', {}, 'The model'), note, files);
  const names = texts.map(({name}) => name);
  const isAmbiguous = names.some((name, i) => names.indexOf(name) !== i);
  let drawn;
  const update = () => {
    if (drawn === shownEntry()) return;
    drawn = shownEntry();
    const figures = figuresByLine();
    note.textContent = `What each line costs in ${shownEntry()}: its share of the ${figures.measure}, gradients ` +
        'included; `most saved`, the most bytes that its values of the kind `saved` have at any moment (the backward ' +
        'pass reads them); and `live at the peak`, the bytes that its values of all kinds have at that one moment.' +
        (isAmbiguous ? ' Several files have one name: their figures cannot be told apart, and each shows all.' : '');
    files.replaceChildren(...texts.map((file) => element(
        'div', {className: 'scroll'}, fileTable(file, figures))));
  };
  onViewChange.push(update);
  update();
}
