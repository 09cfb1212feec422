// ranks.js - the mesh of ranks: what each rank has of the state, and what ranks exchange in a step.
'use strict';

const ranksOf = () => (report.plan && report.plan.ranks) || null;

function tableOf(id, titles, isNumber, rows) {
  const cells = (tag, values) => values.map(
      (value, i) => element(tag, {className: isNumber[i] ? 'number' : 'name'}, value));
  return element('div', {className: 'scroll tall'}, element(
      'table', {id}, element('thead', {}, element('tr', {}, cells('th', titles))),
      element('tbody', {}, rows.map((row) => element('tr', {}, cells('td', row))))));
}

function meshTable({mesh}) {
  const titles = ['mesh axis', 'ranks', 'a rank receives in a step', 'all_to_all', 'all_gather', 'links'];
  return tableOf('mesh-table', titles, [false, true, true, true, true, false], mesh.map((axis) => [
    axis.name, String(axis.size), formatBytes(axis.received), String(axis.all_to_all), String(axis.all_gather),
    axis.crosses_machines ? 'between machines' : 'in a machine',
  ]));
}

/** Elements of an axis of a state or an input in the parts of all ranks together, without padding. */
const wholeSize = ([name, size], divided) => (divided && divided[name] ? divided[name].whole : size);

/** "[embed: 192, ff: 768] f32". */
function describeWhole({axes, canonical, divided, type}) {
  const sizes = new Map(axes.map((axis) => [axis[0], wholeSize(axis, divided)]));
  return `[${canonical.map((name) => `${name}: ${sizes.get(name)}`).join(', ')}] ${type}`;
}

/** "ff along tensor: 192 a rank"; states that all ranks have whole are copies. */
function describeParts({axes, divided}) {
  const parts = axes.filter(([name]) => divided && divided[name])
      .map(([name, size]) => `${name} along ${divided[name].along}: ${size} a rank`);
  return parts.length > 0 ? parts.join(', ') : 'a copy on each rank';
}

function stateTable() {
  const titles = ['state', 'kind', 'whole', 'ranks have', 'bytes of a rank', 'bytes of the whole'];
  const wholeBytes = ({axes, divided, type}) =>
      product(axes.map((axis) => wholeSize(axis, divided))) * report.element_bytes[type];
  const rows = [...manifest.state].sort((a, b) => b.bytes - a.bytes).map((state) => [
    state.path, state.kind, describeWhole(state), describeParts(state), formatBytes(state.bytes),
    formatBytes(wholeBytes(state)),
  ]);
  return tableOf('rank-states', titles, [false, false, false, false, true, true], rows);
}

function exchangeTable({exchanges}) {
  const titles = ['value', 'line', 'exchange', 'along', 'times', 'a rank receives', 'predicted'];
  return tableOf('exchange-table', titles, [false, false, false, false, true, true, true], exchanges.map((row) => [
    row.of, row.at, row.kind, row.along, String(row.calls), formatBytes(row.received),
    row.seconds === null ? unknown : formatSeconds(row.seconds),
  ]));
}

/** "batch, vocab": those that most ops divide first. */
function axesAlong({divided}, {name}) {
  const axes = Object.entries(divided[name] || {}).sort(([, a], [, b]) => b - a);
  return axes.length > 0 ? axes.map(([axis]) => axis).join(', ') : '-';
}

function lineTable({lines, mesh}) {
  const titles = ['line', 'ops', ...mesh.map(({name}) => `along ${name}`)];
  return tableOf('line-table', titles, [false, true, ...mesh.map(() => false)], lines.map((line) => [
    line.at, String(line.ops), ...mesh.map((axis) => axesAlong(line, axis)),
  ]));
}

/** What a search rejected, what takes the least time first. */
function rejectedTable({search, mesh}) {
  const rows = [
    ...search.meshes.map((other) => ['mesh', '', mesh.map(({size}) => size).join(' x '), other.mesh, other]),
    ...search.decisions.flatMap(({of, along, chosen, rejected}) => rejected.map(
        (other) => [of, along, chosen || 'none', other.axis || 'none', other])),
  ].sort((a, b) => a[4].seconds - b[4].seconds);
  const titles = ['what', 'along', 'chosen', 'rejected', 'a step takes', 'longer'];
  return tableOf('rejected-table', titles, [false, false, false, false, true, true], rows.map(
      ([of, along, chosen, other, {seconds, exact}]) => {
        const least = exact ? '' : 'at least ';
        const percent = Math.max(0, 100 * (seconds / search.seconds - 1));
        return [of, along, chosen, other, least + formatSeconds(seconds), `${least}${percent.toFixed(2)} %`];
      }));
}

/** The table of what was rejected, if the sharding was found. */
function showRejected(section, ranks) {
  const {search} = ranks;
  if (!search || search.meshes.length + search.decisions.length === 0) return;
  section.append(element('h3', {}, 'What the search rejected'), rejectedTable(ranks));
}

function explainRanks() {
  return legend('What the tables show', [
    ['all_to_all', 'each rank sends a part to each other rank along the axis; a kernel adds up what was received'],
    ['all_gather', 'each rank sends the same to all; an all-reduce is an all_to_all and an all_gather'],
    ['predicted', 'of all its times in a step'],
  ]);
}

/** Of a program for several ranks. */
function showRanks(section) {
  const ranks = ranksOf();
  if (!ranks) return;
  const {machines} = ranks;
  const where = machines ? ` on ${machines.count} × ${machines.devices} devices` : '';
  const mesh = ranks.mesh.map(({name, size}) => `${name}=${size}`).join(', ');
  section.append(
      element('h2', {}, 'Ranks'),
      element('p', {}, `The mesh ${mesh} has ${ranks.count} ranks${where}.`
          + ' Memory and costs on this page are those of one.'),
      meshTable(ranks));
  showRejected(section, ranks);
  if (ranks.lines.length > 0) section.append(element('h3', {}, 'What lines are divided along'), lineTable(ranks));
  section.append(
      element('h3', {}, 'What ranks exchange in a step'), exchangeTable(ranks),
      element('h3', {}, 'What a rank has of the state'), stateTable(), explainRanks());
}
