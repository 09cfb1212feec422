// view.js - what the page shows: kept in its address, so that a link shows the same.
'use strict';

const entries = manifest ? Object.keys(manifest.plan.timelines) : [];

/** Without a value: the default. `entry`: an entry function. `moment`: of its timeline. `find`: text of rows. `sort`,
 *  `order` (up or down), `rows` (lines or kernels): of the table of costs. */
const view = {};
const onViewChange = [];

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const entry = entries.includes(asked.get('entry')) ? asked.get('entry') : undefined;
  const moment = /^\d+$/.test(asked.get('moment')) ? Number(asked.get('moment')) : undefined;
  const text = (key) => asked.get(key) || undefined;
  Object.assign(view, {
    entry, moment, find: text('find'), sort: text('sort'), order: text('order'), rows: text('rows'),
  });
}

function changeView(changes) {
  Object.assign(view, changes);
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(view)) if (value !== undefined) asked.set(key, value);
  const hash = asked.toString();
  history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search);
  for (const update of onViewChange) update();
}

const defaultEntry = () => (entries.includes('step') ? 'step' : entries[0]);
const shownEntry = () => view.entry || defaultEntry();

/** Makes a figure of an entry function once. */
function cached(make) {
  const made = new Map();
  return () => {
    const entry = shownEntry();
    if (!made.has(entry)) made.set(entry, make(entry));
    return made.get(entry);
  };
}
const shownMemory = cached((entry) => new Memory(entry));
const shownCosts = cached(costRows);

function shownMoment() {
  const {peak, last} = shownMemory();
  return view.moment !== undefined && view.moment <= last ? view.moment : peak;
}

readAddress();
window.addEventListener('hashchange', () => {
  readAddress();
  for (const update of onViewChange) update();
});
