// costs.js - the table of what an entry function calls.
'use strict';

/** The columns of the table; those with `number` are sums over the calls. */
const columns = [
  {key: 'line', title: 'line', meaning: 'the line of the model that it comes from; its gradient counts there too'},
  {key: 'op', title: 'op', meaning: 'what is computed, by the names of the model'},
  {key: 'kernel', title: 'kernel', meaning: 'the generated function, or what computes a contraction of a library'},
  {key: 'time', title: 'time', number: formatSeconds, meaning: 'predicted, of all calls together'},
  {key: 'part', title: 'share', number: formatPart,
   meaning: 'of the time of the entry function, with exchanges beside kernels; without times, of flops'},
  {key: 'flops', title: 'flops', number: formatCount,
   meaning: 'floating-point operations of all calls: two for a multiply-add, one for another op and element'},
  {key: 'bytes', title: 'read + written', number: formatBytes,
   meaning: 'bytes of operands and results of all calls, wherever they are; of exchanges, those that a rank receives'},
  {key: 'calls', title: 'calls', number: (calls) => String(calls), meaning: 'in one call of the entry function'},
];

/** By what shares are counted: time if it is known. */
const measureOf = (rows) => (totals(rows).time === undefined ? 'flops' : 'time');

/** The whole of the shares: the predicted time of the entry function and of exchanges beside it, else the sum. */
function wholeOf(rows) {
  const measure = measureOf(rows);
  const predicted = predictionOf(shownEntry());
  return measure === 'time' && predicted ? predicted.seconds + (predicted.beside || 0) : totals(rows)[measure];
}

/** What a group of rows that come from no line is called. */
const withoutLine = ({pass}) => (pass === 'optimizer' ? 'the optimizer' : pass ? `the ${pass} pass as a whole`
                                                                               : 'the program as a whole');
const lineLabel = (row) => row.key || withoutLine(row);

function lineTexts() {
  const texts = new Map();
  for (const {name, lines} of modelTexts())
    for (const {number, text} of lines) texts.set(`${name}:${number}`, text.trim());
  return texts;
}

//----------------------------------------------------------------------------------------------------------------------
// Rows
//----------------------------------------------------------------------------------------------------------------------

/** Compares names with numbers in them as people do. */
const compareTexts = new Intl.Collator('en', {numeric: true}).compare;

function compareBy(key, isUp) {
  const sign = isUp ? 1 : -1;
  return (a, b) => {
    const [left, right] = [a[key], b[key]];
    if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
    return sign * (typeof left === 'string' ? compareTexts(left, right) : left - right);
  };
}

/** The rows that contain the text that is searched for, with shares. */
function foundRows(texts) {
  const rows = shownCosts();
  const [measure, whole] = [measureOf(rows), wholeOf(rows)];
  const word = (view.find || '').toLowerCase();
  const isFound = (row) => [lineLabel(row), row.op, row.kernel, texts.get(row.key) || '']
      .some((text) => text.toLowerCase().includes(word));
  return rows.map((row) => ({...row, line: lineLabel(row), part: row[measure] / whole})).filter(isFound);
}

function groupsOf(rows, compare) {
  const groups = new Map();
  for (const row of rows) groups.set(row.line, [...(groups.get(row.line) || []), row]);
  return [...groups].map(([line, members]) => {
    const sorted = members.sort(compare);
    const part = sum(members.map((row) => row.part || 0));
    return {line, key: sorted[0].key, members: sorted, ...totals(members), part, op: sorted[0].op,
            kernel: sorted[0].kernel};
  }).sort(compare);
}

function cell(row, {key, number}) {
  if (!number) return element('td', {className: 'name', title: row[key]}, row[key]);
  const text = row[key] === undefined ? unknown : number(row[key]);
  if (key !== 'part') return element('td', {className: 'number'}, text);
  return element('td', {className: 'number'}, row.part ? bar(row.part) : null,
                 element('span', {className: 'figure'}, text));
}

const kernelRow = (row, isMember) => element(
    'tr', {className: isMember ? 'member' : ''},
    columns.map((column) => (isMember && column.key === 'line' ? element('td') : cell(row, column))));

/** The lines whose rows are shown. */
const opened = new Set();

function groupRows(group, texts, isOpen, update) {
  const toggle = () => {
    opened.has(group.line) ? opened.delete(group.line) : opened.add(group.line);
    update();
  };
  const count = group.members.length;
  const button = element('button', {className: 'toggle', onclick: toggle, ariaExpanded: String(isOpen)},
                         isOpen ? '▾ ' : '▸ ', group.line);
  const text = texts.get(group.key) || '';
  const head = element(
      'tr', {className: 'group', data: {line: group.line}},
      element('td', {className: 'name', title: group.line}, button),
      element('td', {className: 'name code', title: text}, text),
      element('td', {className: 'quiet'}, `${count} kernel${count === 1 ? '' : 's'}`),
      columns.filter(({number}) => number).map((column) => cell(group, column)));
  return [head, ...(isOpen ? group.members.map((row) => kernelRow(row, true)) : [])];
}

//----------------------------------------------------------------------------------------------------------------------
// The table
//----------------------------------------------------------------------------------------------------------------------

/** How the table is sorted: as asked, else by what shares are counted by. */
function sorting() {
  const column = columns.find(({key}) => key === view.sort) || columns.find(({key}) => key === measureOf(shownCosts()));
  const isUp = view.order ? view.order === 'up' : !column.number;
  return {column, isUp};
}

function headRow() {
  const {column: sorted, isUp} = sorting();
  return element('tr', {}, columns.map((column) => {
    const isSorted = column === sorted;
    const order = isSorted ? (isUp ? 'down' : 'up') : undefined;
    const button = element('button', {onclick: () => changeView({sort: column.key, order})},
                           column.key === 'part' ? `share of ${measureOf(shownCosts())}` : column.title,
                           isSorted ? (isUp ? ' ▲' : ' ▼') : '');
    const head = element('th', {className: column.number ? 'number' : '', title: column.meaning,
                                data: {column: column.key}}, button);
    if (isSorted) head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
    return head;
  }));
}

function footRow(rows) {
  const all = {...totals(rows), part: sum(rows.map(({part}) => part || 0))};
  return element('tr', {}, element('th', {colSpan: 3}, `sum of ${rows.length} rows`),
                 columns.filter(({number}) => number).map((column) => cell(all, column)));
}

function describePrediction({seconds, passes, beside}) {
  const parts = Object.entries(passes || {}).map(([pass, time]) => `${pass} ${formatSeconds(time)}`);
  const more = beside ? `, with exchanges beside kernels, ${formatSeconds(beside)}` : '';
  const whole = `The whole is the predicted time of ${shownEntry()}, ${formatSeconds(seconds)}${more}`;
  return parts.length > 1 ? `${whole}: ${parts.join(', ')}.` : `${whole}.`;
}

/** What the figures are, and what is missing. */
function describeCosts(rows) {
  const notes = [];
  const predicted = predictionOf(shownEntry());
  if (measureOf(rows) === 'flops')
    notes.push('Times are not known: the cost model has no figures for this device. Lines are compared by flops.');
  else if (predicted)
    notes.push(describePrediction(predicted));
  notes.push('All figures are sums over the calls; the gradient of a line counts there too.');
  const uncounted = rows.filter(({calls}) => calls === undefined).length;
  if (uncounted > 0)
    notes.push(`How often ${uncounted} contractions of a library are called is not known: sums are without them.`);
  return notes.join(' ');
}

function explainCosts() {
  return legend('What the columns mean, and how to link to a view', [
    ...columns.map(({title, meaning}) => [title, meaning]),
    ['#find=…', 'the address shows only lines, ops and kernels with this text'],
    ['#sort=…', `a column: ${columns.map(({key}) => key).join(', ')} (part is the share)`],
    ['#order=…', 'up or down'],
    ['#rows=kernels', 'not grouped by line'],
    ['#entry=…', `an entry function: ${entries.join(', ')}; #moment=… is a moment of its memory; & joins several`],
  ]);
}

function showCosts(section) {
  const texts = lineTexts();
  const note = element('p', {className: 'quiet', id: 'cost-note'});
  const search = element('input', {type: 'search', placeholder: 'find a line, op or kernel', label: 'find'});
  search.addEventListener('input', () => changeView({find: search.value || undefined}));
  const flat = element('input', {type: 'checkbox'});
  flat.addEventListener('change', () => changeView({rows: flat.checked ? undefined : 'kernels'}));
  const [head, body, foot] = [element('thead'), element('tbody'), element('tfoot')];
  section.append(
      element('h2', {}, 'Cost by line and kernel'), note,
      element('div', {className: 'controls'}, search, element('label', {}, flat, ' group by line of the model')),
      element('div', {className: 'scroll tall'}, element('table', {id: 'cost-table'}, head, body, foot)),
      explainCosts());
  const update = () => {
    const {column, isUp} = sorting();
    const rows = foundRows(texts);
    const compare = compareBy(column.key, isUp);
    const isFlat = view.rows === 'kernels';
    if (search.value !== (view.find || '')) search.value = view.find || '';
    flat.checked = !isFlat;
    note.textContent = describeCosts(shownCosts());
    head.replaceChildren(headRow());
    const isOpen = (group) => Boolean(view.find) !== opened.has(group.line);
    body.replaceChildren(...(isFlat ? rows.sort(compare).map((row) => kernelRow(row, false))
                                    : groupsOf(rows, compare).flatMap((group) => groupRows(
                                          group, texts, isOpen(group), update))));
    foot.replaceChildren(footRow(rows));
  };
  onViewChange.push(update);
  update();
}
