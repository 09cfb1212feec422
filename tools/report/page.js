// page.js - the head of the page, its small sections, and what is drawn when.
'use strict';

function card(title, value, note) {
  return element('div', {className: 'card'}, element('div', {className: 'quiet'}, title), element('b', {}, value),
                 note ? element('div', {className: 'quiet'}, note) : null);
}

function describeTarget() {
  const {kind, device, march, threads, architectures} = manifest.target;
  const name = typeof device === 'string' ? device : device.called || device.name;
  const parts = kind === 'cuda' ? [`GPU ${name}`, architectures.join(', ')]
                                : [`CPU ${name}`, march, `${threads} thread${threads === 1 ? '' : 's'}`];
  const options = (manifest.source && manifest.source.options) || [];
  return [...parts, manifest.compiler, ...options].filter(Boolean).join(' · ');
}

function fitCard() {
  const {plan} = report;
  if (!plan || plan.fits === null) return card('Fits', 'not known', 'the memory of the device is not known');
  const title = plan.fits ? 'Fits' : 'Does not fit';
  return card(title, plan.fits ? 'yes' : 'no',
              `${formatBytes(plan.needed)} of ${formatBytes(plan.device.memory)}, ${plan.device.name}`);
}

/** Tokens of one call of an entry function on all ranks, or rows where data are no tokens; null without data. */
function workOf(entry) {
  const inputs = manifest.entries[entry].inputs.filter(({role, axes}) => role === 'data' && axes.length > 0);
  const works = inputs.map(({data: name, axes, divided}) => {
    const {seq} = manifest.data.find((data) => data.name === name);
    const rows = wholeSize(axes[0], divided);
    return seq ? {count: rows * seq[1], unit: 'tokens'} : {count: rows, unit: 'rows'};
  });
  return works.find(({unit}) => unit === 'tokens') || works[0] || null;
}

function predictionCards(entry) {
  const predicted = predictionOf(entry);
  if (!predicted) return [card(`Predicted ${entry}`, 'not known', 'no figures for the device')];
  const range = `${formatSeconds(predicted.least)} to ${formatSeconds(predicted.most)}, ${manifest.predicted.source}`;
  const work = workOf(entry);
  const perSecond = (seconds) => formatCount(work.count / seconds);
  const rate = work && card(
      `${work.unit[0].toUpperCase()}${work.unit.slice(1)} per second`, perSecond(predicted.seconds),
      `${perSecond(predicted.most)} to ${perSecond(predicted.least)}, ${work.count} ${work.unit} a call of ${entry}`);
  const beside = predicted.beside && card(
      'Beside kernels', formatSeconds(predicted.beside), 'exchanges with other ranks, not in the predicted time');
  return [card(`Predicted ${entry}`, formatSeconds(predicted.seconds), range), ...[rate, beside].filter(Boolean)];
}

function showHead(head) {
  head.append(element('h1', {}, report.model));
  if (!manifest) {
    head.append(element('p', {className: 'quiet'}, 'No program was made, so that only the precision is known.'));
    return;
  }
  const parameters = report.plan ? card('Parameters', formatCount(report.plan.parameters),
                                        `state ${formatBytes(report.plan.state)}`) : null;
  const cards = element('div', {className: 'cards'});
  head.append(element('p', {className: 'quiet'}, describeTarget()), cards);
  const update = () => {
    const entry = shownEntry();
    const memory = shownMemory();
    const inUse = formatPart(memory.total(memory.peak) / manifest.arena.bytes);
    cards.replaceChildren(...[
      parameters, card('Arena', formatBytes(manifest.arena.bytes), `${inUse} in use at the peak of ${entry}`),
      fitCard(), ...predictionCards(entry)].filter(Boolean));
  };
  onViewChange.push(update);
  update();
}

/** Chooses the entry function that all sections show. */
function showChoice(navigation) {
  const update = () => navigation.replaceChildren('Entry function ', ...entries.map((entry) => element(
      'button', {className: entry === shownEntry() ? 'chosen' : '',
                 onclick: () => changeView({entry: entry === defaultEntry() ? undefined : entry, moment: undefined})},
      entry)));
  onViewChange.push(update);
  update();
}

function needsTable(title, needs) {
  const row = ({name, bytes, part, problem}) => element(
      'tr', {}, element('td', {className: part ? 'part' : ''}, name),
      element('td', {className: 'number'}, bytes === null ? '?' : formatBytes(bytes)),
      element('td', {className: 'quiet'}, problem || ''));
  return element('table', {}, element('caption', {}, title), element('tbody', {}, needs.lines.map(row)), element(
      'tfoot', {}, row({name: 'total', bytes: needs.total})));
}

/** What a run takes beside the arena. */
function showRun(section) {
  const {plan} = report;
  if (!plan) return;
  const tables = [plan.gpu && needsTable('Memory of the GPU', plan.gpu),
                  needsTable(plan.gpu ? 'Memory of the host' : 'Memory', plan.host)];
  section.append(element('h2', {}, 'What a run takes in all'), element('div', {className: 'tables'}, tables.filter(
      Boolean)));
}

function showPrecision(section) {
  if (!report.precision) return;
  const {text, rows} = report.precision;
  const titles = ['value', 'line', 'op', 'type', 'times a step', 'why', 'fewer bytes than in f32'];
  const row = (rounding) => element(
      'tr', {}, ['value', 'line', 'op', 'type'].map((key) => element('td', {}, rounding[key])),
      element('td', {className: 'number'}, String(rounding.times)), element('td', {}, rounding.why),
      element('td', {className: 'number'}, formatBytes(rounding.saved)));
  section.append(element('h2', {}, 'Precision'), ...text.map((paragraph) => element('p', {}, paragraph)));
  if (rows.length > 0)
    section.append(element('div', {className: 'scroll tall'}, element(
        'table', {}, element('thead', {}, element('tr', {}, titles.map((title) => element('th', {}, title)))),
        element('tbody', {}, rows.map(row)))));
}

/** An error of these scripts must not look like a program that takes nothing. */
window.addEventListener('error', ({message}) => {
  const problem = document.getElementById('problem');
  problem.hidden = false;
  problem.textContent = `A part of this page is missing, because of an error in it: ${message}`;
});

const section = (id) => document.getElementById(id);
showHead(section('head'));
if (manifest) {
  showChoice(section('choice'));
  showMemory(section('memory'));
  showPlans(section('plans'));
  showRanks(section('ranks'));
  showCosts(section('costs'));
  showModel(section('model'));
}
showRun(section('run'));
showPrecision(section('precision'));
